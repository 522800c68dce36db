"""Everything that a command works with, built once: settings, clock, stages and the one executor."""

from __future__ import annotations

import getpass
import os
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from clusterctl.adapters.clock import RunClock
from clusterctl.adapters.journal_file import earlier_work, journal_path
from clusterctl.adapters.placement_file import PlacementFile, refuse_foreign
from clusterctl.adapters.run_history import RunHistory
from clusterctl.adapters.run_lock import run_lock
from clusterctl.adapters.setting_layers import environment_layer, flag_layer, placement_layer, project_layer
from clusterctl.engine.events import Event, EventSink, Notice
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline, RunResult, StagePlan
from clusterctl.engine.prerequisites import Standing
from clusterctl.engine.recording import Recording, both
from clusterctl.engine.stage import Stage
from clusterctl.errors import StageIncompleteError, VerificationError
from clusterctl.model.budget import Budget
from clusterctl.model.capacity import Question
from clusterctl.model.cluster import ClusterState, NodegroupState, cluster_notices
from clusterctl.model.cost import Cost, cluster_cost, cost_document
from clusterctl.model.decision import Asked, Decision, Remembered, nodes_of
from clusterctl.model.documents import candidates_document
from clusterctl.model.history import RunRecord, expected_seconds
from clusterctl.model.placement import Placement
from clusterctl.model.run import RunContext
from clusterctl.model.settings import ResolvedSettings, Settings, resolve
from clusterctl.model.target import Target
from clusterctl.model.verification import FailedVerificationError, Verification
from clusterctl.ports import Identity
from clusterctl.stages.extend import ExtendStage
from clusterctl.wiring.deployment import Deployment
from clusterctl.wiring.publishing import publish
from clusterctl.wiring.stopping import stopping
from clusterctl.wiring.tools import Tools, build_tools
from clusterctl.wiring.world import World, open_world

DEPLOY = ("probe", "cluster", "nodegroup", "plugins", "volcano", "kuberay", "mpi", "slinky", "verify")
STAGES_OF = {"ray": "kuberay", "slurm": "slinky", "volcano": "volcano", "mpi": "mpi"}  # what --with names
AnyStage = Stage[Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """What the command line says. `flags` are settings in upper case; `probe` asks for a proof of capacity."""

    command: str
    sandbox: bool
    placement: Path
    scenario: Path | None = None
    events: bool = False
    junit: Path | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    probe: bool = False
    save: bool = True
    all_regions: bool = False
    expect_nodes: int | None = None
    hold: bool = False


class Bench:
    """One command's run. Readers are shared by plan and apply, so that what was approved is what is done."""

    def __init__(self, ask: Ask, world: World, clock: RunClock) -> None:
        self.ask = ask
        self.world = world
        self.clock = clock
        self.placement_file = PlacementFile(ask.placement)
        self.remembered = self.placement_file.load()
        self.resolved = self._resolve()
        self._decision: Decision | None = None
        self._group: NodegroupState | None = None

    @property
    def settings(self) -> Settings:
        return self.resolved.settings

    @cached_property
    def identity(self) -> Identity:
        """Raises AccessError without credentials, UsageError for another account's placement file."""
        identity = self.world.session.identity()
        refuse_foreign(self.remembered, identity.account_id, self.ask.placement)
        return identity

    @cached_property
    def run(self) -> RunContext:
        settings, lifetime = self.settings, self.settings.lifetime
        return RunContext(
            run_id=new_run_id(),
            account_id=self.identity.account_id,
            owner=settings.owner or user_name(),
            cluster=settings.cluster_name,
            expires_at=self.clock.now() + lifetime if lifetime else self._remembered_expiry(),
            kubeconfigs=str(self.world.home / "kubeconfigs"),
            earlier=earlier_work(journal_path(self.ask.placement), settings.cluster_name),
        )

    def _remembered_expiry(self) -> datetime | None:
        """What is added to a cluster later expires with it; an expiry that has passed is of one that is gone."""
        before = self.remembered
        expiry = before.expiry if before and before.cluster_name == self.settings.cluster_name else None
        return expiry if expiry and expiry > self.clock.now() else None

    @cached_property
    def tools(self) -> Tools:
        return build_tools(self.world, self.clock, self.run, self.placement_file)

    @cached_property
    def outputs(self) -> Outputs:
        """What every stage may require, before any has run."""
        explicit = frozenset(key for key in self.resolved.sources if self.resolved.explicit(key))
        outputs = Outputs().with_value(self.settings).with_value(self.run).with_value(self._asked())
        return outputs.with_value(Remembered(self.remembered, explicit))

    @cached_property
    def recording(self) -> Recording:
        return Recording(self.clock.now())

    @property
    def history(self) -> RunHistory:
        return RunHistory(self.world.home / "runs", self.settings.cluster_name)

    @cached_property
    def expected(self) -> dict[str, float]:
        """Seconds that each stage took in earlier runs of this command."""
        return expected_seconds(self.history.runs(), self.ask.command)

    def remember(self, document: Mapping[str, Any]) -> tuple[str, ...]:
        """Keep what this run was like, with the capacity and the price that it knew. Returns what could not be told."""
        known = {**document, **self.decision_document(), "cost": cost_document(self.cost())}
        self.history.add(self._record(known))
        return self.publish(known)

    def publish(self, document: Mapping[str, Any]) -> tuple[str, ...]:
        """Tell of this run where the caller and the environment ask for it. Returns what could not be told."""
        return publish(self._record(document), self.ask.junit, os.environ, on_aws=self.world.name == "aws")

    def _record(self, document: Mapping[str, Any]) -> RunRecord:
        return self.recording.record(self.ask.command, self.run, self.world.name, document)

    @property
    def deployment(self) -> tuple[str, ...]:
        """The stages of deploy-all: those of the operators that were asked for, and all that are no operator's."""
        left_out = {stage for name, stage in STAGES_OF.items() if name not in self.settings.operators}
        return tuple(name for name in DEPLOY if name not in left_out)

    def preview(self, wanted: Sequence[str]) -> tuple[StagePlan, ...]:
        preview = self._pipeline(wanted, _ignore).preview(self.outputs)
        self._keep(preview.outputs)
        return preview.plans

    def apply(self, wanted: Sequence[str], emit: EventSink) -> RunResult:
        if any(isinstance(stage, Standing) for stage in self._stages(wanted)):
            self._pipeline(wanted, _ignore).preview(self.outputs)  # what is missing is met before anything is written
        told = both(self.recording, emit)
        deployment = Deployment(self.tools, self.settings, self.clock, told)
        result = deployment.run(lambda outputs: self._pipeline(wanted, told).apply(outputs), self.outputs)
        self._keep(result.outputs)
        if result.error is None:
            self.tools.journal.clear()
        return result

    def verify(self) -> tuple[Verification, VerificationError | None]:
        """One look at everything that stands, judged at once. Raises VerificationError if there is no cluster."""
        region = self.remembered.region if self.remembered and self.remembered.region else self.settings.region
        if not self.tools.clusters.cluster(region, self.settings.cluster_name).exists:
            raise VerificationError(
                f"there is no cluster {self.settings.cluster_name} in {region}", hint="clusterctl deploy-all"
            )
        outputs = self.outputs
        for stage in self._stages(("verify",)):
            outputs = outputs.with_value(stage.observe(outputs.only(stage.requires)))
        verification = outputs[Verification]
        return verification, None if verification.ok else FailedVerificationError(verification)

    def removal(self, wanted: str, emit: EventSink, *, purge: bool = False) -> Pipeline:
        """The stages that take away again: everything, or what one stage has made."""
        stages = self.tools.removal(self.settings, wanted, purge=purge)
        return Pipeline(stages, self.tools.executor, self.clock, emit)

    def remove(self, wanted: str, emit: EventSink, *, purge: bool = False) -> RunResult:
        removal = self.removal(wanted, both(self.recording, emit), purge=purge)
        result = removal.apply(Outputs().with_value(self.target))
        if result.error is None:
            self.tools.journal.clear()
        return result

    def preview_removal(self, wanted: str, *, purge: bool = False) -> tuple[StagePlan, ...]:
        return self.removal(wanted, _ignore, purge=purge).preview(Outputs().with_value(self.target)).plans

    def extend(self, length: timedelta, emit: EventSink) -> RunResult:
        """Move the end of the target. Raises nothing: what went wrong is in the result."""
        stage = ExtendStage(self.tools.marks, self.placement_file, self.clock.now(), length)
        return Pipeline((stage,), self.tools.executor, self.clock, emit).apply(Outputs().with_value(self.target))

    @cached_property
    def target(self) -> Target:
        """What a teardown is about: the placement's cluster, or the one that the settings name."""
        settings, before = self.settings, self.remembered
        region = before.region if before and before.region and not self.resolved.explicit("REGION") else settings.region
        return Target(region, settings.cluster_name, settings.gpu_nodegroup_name, self.run)

    def cost(self) -> Cost:
        """USD an hour of what was decided; prices that nobody told stay unknown."""
        settings, prices, gpu = self.settings, dict[str, float](), self.settings.gpu_node_type
        nodes = settings.gpu_node_count
        if self._decision and (known := nodes_of(self._decision, self._group)):
            region, gpu, nodes = known
            prices = self._decision.prices.get(region, {})
        return cluster_cost((gpu, nodes), (settings.system_node_type, settings.system_node_count), prices)

    def placement(self) -> Placement | None:
        return self.placement_file.load()

    def placement_document(self) -> dict[str, Any] | None:
        placement = self.placement()
        return asdict(placement) if placement else None

    def decision_document(self) -> dict[str, Any]:
        return candidates_document(self._decision.candidates if self._decision else ())

    @property
    def notices(self) -> tuple[str, ...]:
        return self._decision.notices if self._decision else ()

    def cluster_notices(self, result: RunResult) -> tuple[str, ...]:
        if ClusterState not in result.outputs:
            return ()
        return cluster_notices(result.outputs[ClusterState], self.settings.k8s_version)

    @contextmanager
    def lock(self, emit: EventSink) -> Iterator[None]:
        """Hold the cluster's lock, and see first to what a run that was killed had in flight."""
        with self._run_lock():
            self.tools.settler.settle(lambda words: emit(Notice(self.clock.now(), words)))
            yield

    def _run_lock(self) -> AbstractContextManager[None]:
        name = f"{self.identity.account_id}-{self.settings.cluster_name}"
        folder = self.world.home / "locks"
        return run_lock(folder, name, command=f"clusterctl {self.ask.command}", now=self.clock.now())

    def _keep(self, outputs: Outputs) -> None:
        if Decision in outputs:
            self._decision = outputs[Decision]
        if NodegroupState in outputs:
            self._group = outputs[NodegroupState]

    def _pipeline(self, wanted: Sequence[str], emit: EventSink) -> Pipeline:
        return Pipeline(self._stages(wanted), self.tools.executor, self.clock, emit)

    def _stages(self, wanted: Sequence[str]) -> tuple[AnyStage, ...]:
        every = self.tools.stages(self.settings, self.ask.expect_nodes)
        last = max(DEPLOY.index(name) for name in wanted)
        needed = _closure(every, wanted)
        error = VerificationError if tuple(wanted) == ("verify",) else StageIncompleteError
        chosen = [stage for stage in every[: last + 1] if stage.name in needed]
        return tuple(
            stage if stage.name in wanted or stage.name == "probe" else Standing(stage, error) for stage in chosen
        )

    def _asked(self) -> Asked:
        settings = self.settings
        regions = self.tools.survey.enabled_regions() if self.ask.all_regions else settings.search_regions
        zones = settings.azs or ((settings.gpu_az,) if settings.gpu_az else ())
        question = Question(
            instance_types=settings.types,
            nodes=settings.gpu_node_count,
            regions=regions,
            zones=zones,
            cluster=settings.cluster_name,
            reservation_id=settings.capacity_reservation_id,
            priced=(settings.system_node_type,),
        )
        ask, budget = self.ask, Budget(settings.max_hourly_usd, (settings.system_node_type, settings.system_node_count))
        return Asked(
            question, settings.gpu_nodegroup_name, ask.probe, ask.save, settings.gpus_per_node, ask.hold, budget
        )

    def _resolve(self) -> ResolvedSettings:
        return resolve(
            (
                flag_layer(self.ask.flags),
                environment_layer(os.environ),
                placement_layer(self.remembered, self.ask.placement),
                project_layer(Path.cwd()),
            )
        )


@contextmanager
def open_bench(ask: Ask) -> Iterator[Bench]:
    """A bench whose clock is woken by Ctrl-C and SIGTERM; child processes are stopped on the way out."""
    stop = threading.Event()
    world = open_world(sandbox=ask.sandbox, scenario=ask.scenario)
    bench = Bench(ask, world, RunClock(world.time, stop))
    with stopping(stop):
        try:
            yield bench
        finally:
            if "tools" in vars(bench):
                bench.tools.close()


def _closure(stages: Sequence[AnyStage], wanted: Sequence[str]) -> frozenset[str]:
    makers = {stage.provides: stage for stage in stages}
    needed: set[str] = set()
    waiting = [stage for stage in stages if stage.name in wanted]
    while waiting:
        stage = waiting.pop()
        needed.add(stage.name)
        waiting += [makers[kind] for kind in stage.requires if kind in makers and makers[kind].name not in needed]
    return frozenset(needed)


def new_run_id() -> str:
    return uuid.uuid4().hex[:12]


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _ignore(event: Event) -> None:
    """Progress of a preview, which nobody watches."""
