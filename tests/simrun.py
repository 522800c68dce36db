"""Runs of the real stages, executor and journal over a cloud in memory: deploy and tear down, undisturbed or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from clusterctl.adapters.aws.probing import Ec2Prober
from clusterctl.adapters.journal_file import JournalFile, earlier_work, journal_path
from clusterctl.adapters.kubeconfig import KubeconfigFiles
from clusterctl.adapters.placement_file import PlacementFile
from clusterctl.cli.result import as_error
from clusterctl.engine.building import ClusterBuilder
from clusterctl.engine.executor import Executor, Hands
from clusterctl.engine.launching import NodegroupLauncher
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline, RunResult
from clusterctl.engine.probing import ProbeLedger
from clusterctl.engine.proving import CapacityProver
from clusterctl.engine.readiness import Readiness
from clusterctl.engine.refusals import Refusals
from clusterctl.engine.removal import Remover
from clusterctl.engine.settling import Settler
from clusterctl.engine.stage import Stage
from clusterctl.model.capacity import Question
from clusterctl.model.decision import Asked, Remembered
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings
from clusterctl.model.target import Target
from clusterctl.model.verification import Verification
from clusterctl.stages.probe import Readers
from clusterctl.wiring.bench import STAGES_OF
from clusterctl.wiring.deployment import Deployment
from clusterctl.wiring.tools import Tools
from fakes import Recorder
from simworld import (
    KilledError,
    MortalJournal,
    SimWorld,
    WorldAws,
    WorldClock,
    WorldClusters,
    WorldEksctl,
    WorldKube,
    WorldSession,
    WorldSurvey,
)


class SimMachine:
    """One machine with its files. Each run is a new process: nothing but files and the world goes on."""

    def __init__(self, world: SimWorld, folder: Path, settings: Settings | None = None) -> None:
        self.world = world
        self.settings = settings or Settings()
        self.folder = folder
        self.placement = PlacementFile(folder / ".placement.env")
        self.journal = journal_path(self.placement.path)
        self.kubeconfigs = folder / "kubeconfigs"
        self.effects: list[str] = []  # of all runs
        self.words: list[str] = []  # of the newest run
        self._number = 0

    def deploy(self, *, probe: bool = True, hold: bool = False) -> RunResult | None:
        """A deployment; None if it was killed."""
        settings = self.settings
        question = Question(
            settings.types, settings.gpu_node_count, settings.search_regions, settings.azs, settings.cluster_name
        )
        asked = Asked(question, settings.gpu_nodegroup_name, probe=probe, hold=hold)
        bag = Outputs().with_value(asked).with_value(settings)
        return self._run(self._deployment, bag)

    def teardown(self) -> RunResult | None:
        """A teardown of everything; None if it was killed."""
        return self._run(lambda tools: tools.removal(self.settings, "everything", purge=False), Outputs())

    def placed(self) -> dict[str, str]:
        """The placement file without what differs from run to run."""
        if not self.placement.path.exists():
            return {}
        lines = [line.partition("=") for line in self.placement.path.read_text().splitlines()]
        return {key: value.replace(str(self.folder), "") for key, _, value in lines if key != "RUN_ID"}

    def _deployment(self, tools: Tools) -> list[Stage[Any]]:
        """The stages that a deployment runs: those of other operators are left out."""
        others = {stage for name, stage in STAGES_OF.items() if name not in self.settings.operators}
        return [stage for stage in tools.stages(self.settings, None) if stage.name not in others]

    def _run(self, stages: Any, bag: Outputs) -> RunResult | None:
        self._number += 1
        run = RunContext(
            f"{self.folder.name}-{self._number}", "123456789012", "ada", self.settings.cluster_name,
            kubeconfigs=str(self.kubeconfigs), earlier=earlier_work(self.journal, self.settings.cluster_name),
        )  # fmt: skip
        remembered = self.placement.load()
        region = remembered.region if remembered and remembered.region else self.settings.region
        target = Target(region, self.settings.cluster_name, self.settings.gpu_nodegroup_name, run)
        bag = bag.with_value(run).with_value(Remembered(remembered)).with_value(target)
        recorder = Recorder()
        self.words = recorder.words
        tools = self._tools(run)
        try:
            tools.settler.settle(recorder.tell)
            pipeline = Pipeline(stages(tools), tools.executor, tools.clock, recorder)
            result = self._applied(pipeline, tools, recorder, bag)
        except KilledError:
            return None
        finally:
            self.effects += tools.journal.effects  # type: ignore[attr-defined]
        if self.world.dead:
            return None
        if result.error is None:
            tools.journal.clear()
        return result

    def _applied(self, pipeline: Pipeline, tools: Tools, recorder: Recorder, bag: Outputs) -> RunResult:
        """A deployment goes from region to region, and lets no hold outlive it."""
        if Asked not in bag:
            return pipeline.apply(bag)
        return Deployment(tools, self.settings, tools.clock, recorder).run(pipeline.apply, bag)

    def _tools(self, run: RunContext) -> Tools:
        world, clock = self.world, WorldClock(self.world)
        steady = WorldClock(world, steady=True)
        journal = MortalJournal(JournalFile(self.journal, clock, run.run_id, run.cluster), world)
        clusters, kube, survey, aws, eksctl = (
            WorldClusters(world), WorldKube(world), WorldSurvey(world), WorldAws(world), WorldEksctl(world),
        )  # fmt: skip
        kubeconfig = KubeconfigFiles(self.kubeconfigs, program=("clusterctl",))
        prober, ledger = Ec2Prober(WorldSession(world), clock, steady, journal), ProbeLedger()  # type: ignore[arg-type]
        hands = Hands(
            prober=prober, ledger=ledger, prover=CapacityProver(prober, ledger, clock),
            builder=ClusterBuilder(eksctl, clusters, aws, clock, steady),
            launcher=NodegroupLauncher(eksctl, clusters, clock), remover=Remover(eksctl, clusters, aws, steady, survey),
            aws=aws, releases=kube, kube=kube, readiness=Readiness(kube, clock),
            kubeconfig=kubeconfig, placement=self.placement, journal=journal,
        )  # fmt: skip
        known: dict[str, Any] = {
            "survey": survey, "readers": Readers(survey, survey, clusters, self.placement), "clusters": clusters,
            "leftovers": survey, "kube": kube, "releases": kube, "kubeconfig": kubeconfig, "executor": Executor(hands),
            "ledger": ledger, "journal": journal, "clock": clock,
            "settler": Settler(prober, journal, world.end_children),
        }  # fmt: skip
        known["refusals"] = Refusals()
        return Tools(**{one.name: known.get(one.name) for one in fields(Tools)})


def exit_code(result: RunResult) -> int:
    return 0 if result.error is None else as_error(result.error).exit_code


def verified(result: RunResult) -> bool:
    return Verification in result.outputs and result.outputs[Verification].ok


def actions_of(results: Sequence[RunResult]) -> list[str]:
    return [line for result in results for stage in result.stages for line in stage.actions]
