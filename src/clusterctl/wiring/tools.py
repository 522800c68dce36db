"""The adapters of a run, and the stages on them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from clusterctl.adapters.aws.clusters import AwsClusterReader
from clusterctl.adapters.aws.leftovers import LeftoverSearch
from clusterctl.adapters.aws.marks import MarkSearch
from clusterctl.adapters.aws.probing import Ec2Prober
from clusterctl.adapters.aws.reservations import Ec2Reservations
from clusterctl.adapters.aws.survey import AwsSurvey
from clusterctl.adapters.aws.token import EksTokens
from clusterctl.adapters.aws.writer import AwsWriterClient
from clusterctl.adapters.clock import RunClock
from clusterctl.adapters.eksctl import EksctlTool
from clusterctl.adapters.files import private_folder
from clusterctl.adapters.helm import Helm
from clusterctl.adapters.journal_file import JournalFile, journal_path
from clusterctl.adapters.kubeconfig import KubeconfigFiles
from clusterctl.adapters.kubectl import Kubectl
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.manifests import Manifests
from clusterctl.adapters.orphans import MARK, end_children
from clusterctl.adapters.placement_file import PlacementFile
from clusterctl.adapters.process import EKSCTL, HELM, KUBECTL, Tool
from clusterctl.adapters.releases import ComponentReleases
from clusterctl.engine.building import ClusterBuilder
from clusterctl.engine.components import Wanted
from clusterctl.engine.executor import Executor, Hands
from clusterctl.engine.launching import NodegroupLauncher
from clusterctl.engine.probing import ProbeLedger
from clusterctl.engine.proving import CapacityProver
from clusterctl.engine.readiness import Readiness
from clusterctl.engine.refusals import Refusals
from clusterctl.engine.removal import Remover
from clusterctl.engine.settling import Settler
from clusterctl.engine.stage import Stage
from clusterctl.model.components import VolcanoState, efa, neuron, nvidia
from clusterctl.model.operators import OPERATORS, installed_by, kuberay, mpi
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings
from clusterctl.ports import ClusterReader, Journal
from clusterctl.rendering.values import wanted
from clusterctl.stages.cluster import ClusterStage
from clusterctl.stages.kuberay import KuberayStage
from clusterctl.stages.mpi import MpiStage
from clusterctl.stages.nodegroup import NodegroupStage
from clusterctl.stages.operator_removal import OperatorGoneStage
from clusterctl.stages.plugins import PluginsStage
from clusterctl.stages.probe import ProbeStage, Readers
from clusterctl.stages.slinky import SlinkyStage
from clusterctl.stages.teardown import (
    ClusterGoneStage,
    EmptiedStage,
    LeftoversGoneStage,
    NodegroupGoneStage,
    ReleasesGoneStage,
)
from clusterctl.stages.verify import VerifyStage
from clusterctl.stages.volcano import VolcanoStage
from clusterctl.wiring.world import World, patient_sleep


@dataclass(frozen=True, slots=True)
class Tools:
    """What reads and what writes in one run."""

    survey: AwsSurvey
    readers: Readers
    clusters: ClusterReader
    leftovers: LeftoverSearch
    marks: MarkSearch
    kube: Kubectl
    releases: ComponentReleases
    kubeconfig: KubeconfigFiles
    executor: Executor
    ledger: ProbeLedger
    journal: Journal
    settler: Settler
    clock: RunClock
    session: KubeSession
    refusals: Refusals = field(default_factory=Refusals)

    def stages(self, settings: Settings, expect_nodes: int | None) -> tuple[Stage[Any], ...]:
        """The stages of a deployment, in order. Who can schedule by Volcano comes after it where both are asked for."""
        gangs = (VolcanoState,) if "volcano" in settings.operators else ()
        return (
            ProbeStage(self.readers, self.ledger, self.clock),
            ClusterStage(self.clusters, self.kubeconfig),
            NodegroupStage(self.clusters, self.readers.reservations),
            PluginsStage(settings, self.kube, self.releases),
            VolcanoStage(settings, self.kube, self.releases),
            KuberayStage(settings, self.kube, self.releases, after=gangs),
            MpiStage(settings, self.kube, self.releases, after=gangs),
            SlinkyStage(settings, self.kube, self.releases),
            VerifyStage(self.kube, expect_nodes),
        )

    def removal(self, settings: Settings, wanted: str, *, purge: bool) -> tuple[Stage[Any], ...]:
        """The stages that undo: all of a teardown, or those of one stage's name."""
        plugins = (nvidia(settings), efa(settings), neuron(settings))
        operators = {name: installed_by(name, settings) for name in OPERATORS}
        components = (*(one for chain in operators.values() for one in chain), *plugins)
        empty = EmptiedStage(self.clusters, self.kube)
        empty = empty.with_claims() if purge else empty
        group = NodegroupGoneStage(self.clusters)
        chosen: dict[str, tuple[Stage[Any], ...]] = {
            "plugins": (empty.without_objects(), ReleasesGoneStage(self.releases, plugins, named=True)),
            "nodegroup": (empty.without_objects(), ReleasesGoneStage(self.releases, ()), group),
            "keep-cluster": (empty, ReleasesGoneStage(self.releases, components), group),
        }
        for name, chain in operators.items():
            resources = tuple(kind for one in chain for kind in one.objects)
            without = _without_gangs(settings) if name == "volcano" else ()
            chosen[name] = (empty.only(resources), OperatorGoneStage(self.kube, self.releases, chain, without))
        everything = (
            empty,
            ReleasesGoneStage(self.releases, components),
            group,
            ClusterGoneStage(self.clusters),
            LeftoversGoneStage(
                self.leftovers, self.readers.reservations, self.kubeconfig, self.readers.placement, purge
            ),
        )
        return self._judged(chosen.get(wanted, everything), strict=wanted in chosen)

    def _judged(self, stages: tuple[Stage[Any], ...], *, strict: bool) -> tuple[Stage[Any], ...]:
        """Stages that know what was refused; while the cluster goes as well, nothing inside of it stops that."""
        judged: list[Stage[Any]] = []
        for one in stages:
            if isinstance(one, EmptiedStage | ReleasesGoneStage):
                judged.append(replace(one, refusals=self.refusals, strict=strict))
            else:
                judged.append(replace(one, refusals=self.refusals) if isinstance(one, LeftoversGoneStage) else one)
        return tuple(judged)

    def close(self) -> None:
        self.session.close()


def _without_gangs(settings: Settings) -> tuple[Wanted, ...]:
    """How those who schedule by Volcano are installed without it."""
    return tuple(Wanted(*wanted(one(settings))) for one in (kuberay, mpi))


def build_tools(world: World, clock: RunClock, run: RunContext, placement: PlacementFile) -> Tools:
    """Adapters over one world. Nothing is asked of it yet."""
    aws, home = world.session, world.home
    eksctl, helm_tool, kubectl = _programs(world, run)
    session = KubeSession(EksTokens(aws).exec_credential, home / "kube", patient_sleep)
    kube = Kubectl(kubectl, session)
    by_manifest = Manifests(kubectl, session, world.charts, kube)
    releases = ComponentReleases(Helm(helm_tool, session, world.charts, kube), by_manifest)
    clusters, writer, steady = AwsClusterReader(aws), AwsWriterClient(aws), RunClock(world.time, threading.Event())
    journal = world.journal(JournalFile(journal_path(placement.path), clock, run.run_id, run.cluster))
    driver = EksctlTool(eksctl, private_folder(home) / "eksctl.kubeconfig")
    kubeconfig = KubeconfigFiles(home / "kubeconfigs", environ=world.token_environment)
    prober, ledger = Ec2Prober(aws, clock, steady, journal), ProbeLedger()
    survey = AwsSurvey(aws, clock, run.account_id, home / "cache")
    hands = Hands(
        prober=prober,
        ledger=ledger,
        prover=CapacityProver(prober, ledger, clock),
        builder=ClusterBuilder(driver, clusters, writer, clock, steady),
        launcher=NodegroupLauncher(driver, clusters, clock),
        remover=Remover(driver, clusters, writer, steady, LeftoverSearch(aws)),
        aws=writer,
        releases=releases,
        kube=kube,
        readiness=Readiness(kube, clock),
        kubeconfig=kubeconfig,
        placement=placement,
        journal=journal,
    )
    return Tools(
        survey=survey,
        readers=Readers(survey, Ec2Reservations(aws), clusters, placement),
        clusters=clusters,
        leftovers=LeftoverSearch(aws),
        marks=MarkSearch(aws),
        kube=kube,
        releases=releases,
        kubeconfig=kubeconfig,
        executor=Executor(hands),
        ledger=ledger,
        journal=journal,
        settler=Settler(prober, journal, end_children),
        clock=clock,
        session=session,
    )


def _programs(world: World, run: RunContext) -> tuple[Tool, Tool, Tool]:
    """eksctl, helm and kubectl; what they start says which run has started it."""
    children = {**world.children, MARK: run.run_id}
    eksctl, helm, kubectl = (Tool(kind, children, world.tool_folders) for kind in (EKSCTL, HELM, KUBECTL))
    return eksctl, helm, kubectl
