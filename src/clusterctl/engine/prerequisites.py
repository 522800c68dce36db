"""A stage that has to stand already: looked at, never run."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from clusterctl.engine.actions import Effect, Plan
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.stage import Stage
from clusterctl.errors import BusyError, ClusterctlError, StageIncompleteError


@runtime_checkable
class _Readiness(Protocol):
    """What exists in the cloud, and may not be ready for use."""

    @property
    def ready(self) -> bool: ...


class Standing:
    """Wraps a stage for a command that is about a later one. What is missing is an error that names the stage."""

    def __init__(self, stage: Stage[Any], error: type[ClusterctlError] = StageIncompleteError) -> None:
        self._stage = stage
        self._error = error
        self.name = stage.name
        self.requires = stage.requires
        self.provides = stage.provides
        self.patience_s = 0.0

    def observe(self, inputs: Outputs) -> Any:
        return self._stage.observe(inputs)

    def plan(self, inputs: Outputs, observed: Any) -> Plan:
        """Always empty; raises where the stage would have to make something, and while that is in transition."""
        missing = [one for one in self._stage.plan(inputs, observed) if one.effect is Effect.CREATE]
        if missing:
            raise self._error(
                f"stage {self.name} is not complete: it would {missing[0]}", hint=f"clusterctl {self.name}"
            )
        if isinstance(observed, _Readiness) and not observed.ready:
            waits = self._stage.waiting_for(inputs, observed)
            raise BusyError(f"stage {self.name} has not settled: {waits}", hint=f"clusterctl {self.name} waits for it")
        return ()

    def waiting_for(self, inputs: Outputs, observed: Any) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: Any) -> Any:
        return observed
