"""A deployment to its end: from region to region where that was asked for, and without a hold that outlives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clusterctl.engine.actions import CancelReservation
from clusterctl.engine.attempts import RegionExhaustedError
from clusterctl.engine.events import EventSink, Notice
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline, RunResult
from clusterctl.engine.regions import Rounds, deploy_somewhere
from clusterctl.errors import ClusterctlError
from clusterctl.model.cluster import TAG_CLUSTER
from clusterctl.model.decision import Asked, Decision
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings
from clusterctl.model.target import Target
from clusterctl.ports import Clock
from clusterctl.wiring.tools import Tools


@dataclass(frozen=True, slots=True)
class Deployment:
    """Runs the stages of a command, and what has to happen between two regions and after a failure."""

    tools: Tools
    settings: Settings
    clock: Clock
    emit: EventSink

    def run(self, deploy: Callable[[Outputs], RunResult], outputs: Outputs) -> RunResult:
        result = deploy_somewhere(Rounds(deploy, self._leave), outputs)
        if result.error is not None and self._holds_something(result):
            self._let_go(outputs)
        return result

    def _leave(self, exhausted: RegionExhaustedError) -> RunResult:
        """Tear down what this run has made in a region without room: the next one begins from nothing."""
        self.emit(Notice(self.clock.now(), exhausted.message))
        self.tools.ledger.forget()
        target = Target(exhausted.region, self.settings.cluster_name, self.settings.gpu_nodegroup_name)
        stages = self.tools.removal(self.settings, "everything", purge=False)
        return Pipeline(stages, self.tools.executor, self.clock, self.emit).apply(Outputs().with_value(target))

    def _holds_something(self, result: RunResult) -> bool:
        decided = result.outputs[Decision].outcomes if Decision in result.outputs else ()
        return any(one.held for one in (*self.tools.ledger.outcomes(), *decided))

    def _let_go(self, outputs: Outputs) -> None:
        """End the holds of a run that has failed. One that cannot be ended now ends by itself, and is named."""
        regions, cluster = outputs[Asked].question.regions, outputs[RunContext].cluster
        try:
            for one in self.tools.readers.reservations.ours(regions):
                if one.is_hold and one.tags.get(TAG_CLUSTER) == cluster:
                    action = CancelReservation(one.region, one.reservation_id, "the run has failed")
                    self.emit(Notice(self.clock.now(), str(action)))
                    self.tools.executor.execute(action, lambda words: None)
        except ClusterctlError as problem:
            self.emit(Notice(self.clock.now(), f"a hold may stand until its end date: {problem.message}"))
