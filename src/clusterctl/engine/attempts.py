"""The places that were tried and did not work, and why; handed back to the stage that has to choose the next one."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.errors import ClusterctlError
from clusterctl.model.failures import Failure


@dataclass(frozen=True, slots=True)
class Attempt:
    """One place and what came of it. `failure` is None for the place that worked."""

    region: str
    zone: str
    instance_type: str
    outcome: str
    reason: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Attempts:
    """All places tried in this run, oldest first."""

    tried: tuple[Attempt, ...] = ()

    def plus(self, attempt: Attempt) -> Attempts:
        return Attempts((*self.tried, attempt))

    def failed_in(self, zone: str, instance_type: str) -> bool:
        return any(one.failure and one.zone == zone and one.instance_type == instance_type for one in self.tried)

    @property
    def last_failure(self) -> Attempt | None:
        return next((one for one in reversed(self.tried) if one.failure), None)


class PlaceFailedError(ClusterctlError):
    """A place did not work out. The stage is asked for a new plan, which cleans up and goes on, or gives up."""

    kind = "place-failed"

    def __init__(self, attempt: Attempt, *, details: str = "") -> None:
        super().__init__(f"{attempt.instance_type} in {attempt.zone}: {attempt.reason}", details=details)
        self.attempt = attempt
