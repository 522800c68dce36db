"""The contract every stage keeps: it observes, says what it would do, and never does it."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

from clusterctl.engine.actions import Action, Plan
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import ClusterctlError

T = TypeVar("T")


class Stage(Protocol[T]):
    """One step from nothing to a verified cluster.

    `observe` reads the world, `plan` is pure. A stage has converged when its plan is empty and `waiting_for` has
    nothing to say. `expect` is what `observe` would answer once the plan has run, for previews of the stages behind it.
    """

    @property
    def name(self) -> str: ...
    @property
    def requires(self) -> tuple[type, ...]: ...
    @property
    def provides(self) -> type[T]: ...
    @property
    def patience_s(self) -> float:
        """How long the world may take to show the result once everything has been done, in seconds."""

    def observe(self, inputs: Outputs) -> T: ...
    def plan(self, inputs: Outputs, observed: T) -> Plan:
        """Raises a ClusterctlError where nothing that may be done can help."""

    def waiting_for(self, inputs: Outputs, observed: T) -> str: ...
    def expect(self, inputs: Outputs, observed: T) -> T: ...


@runtime_checkable
class Forgiving(Protocol):
    """A stage that goes on without an action that failed, and does not ask for it again."""

    def forgives(self, action: Action, problem: ClusterctlError) -> bool: ...


@runtime_checkable
class Judge(Protocol):
    """A stage that can say what it means when the world has not settled within its patience."""

    def verdict(self, inputs: Outputs, observed: Any) -> ClusterctlError: ...
