"""The places that were tried and did not work, and why; handed back to the stage that has to choose the next one."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.errors import CapacityUnavailableError, ClusterctlError
from clusterctl.model.failures import Failure

CONTROL_PLANE = "control plane"  # what an attempt launched where it was a cluster, not a node group


@dataclass(frozen=True, slots=True)
class Attempt:
    """One place and what came of it. `failure` is None for the place that worked, `nodegroup` what was launched."""

    region: str
    zone: str
    instance_type: str
    outcome: str
    reason: str
    failure: Failure | None = None
    nodegroup: str = ""


@dataclass(frozen=True, slots=True)
class Attempts:
    """All places tried in this run, oldest first."""

    tried: tuple[Attempt, ...] = ()

    def plus(self, *attempts: Attempt) -> Attempts:
        return Attempts((*self.tried, *attempts))

    def since(self, earlier: Attempts) -> tuple[Attempt, ...]:
        """What was tried after `earlier`."""
        return self.tried[len(earlier.tried) :]

    def failure_of(self, region: str, nodegroup: str) -> Attempt | None:
        """The last failure of one node group."""
        mine = (one for one in reversed(self.tried) if (one.region, one.nodegroup) == (region, nodegroup))
        return next((one for one in mine if one.failure), None)

    @property
    def failures(self) -> dict[tuple[str, str, str], Failure]:
        """Region, instance type and zone name of each place that failed, with the reason."""
        return {(one.region, one.instance_type, one.zone): one.failure for one in self.tried if one.failure}

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


class RegionExhaustedError(CapacityUnavailableError):
    """No zone of a region has room, and the next best place is in another one: that needs another cluster."""

    def __init__(self, message: str, *, region: str, onward: str, hint: str = "", details: str = "") -> None:
        super().__init__(message, hint=hint, details=details)
        self.region = region
        self.onward = onward
