"""The state behind AWS that all parts share: time, scenario, faults, calls, endpoints and capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.cloud.calls import CallLog
from clusterctl.sandbox.cloud.capacity import CapacityPool
from clusterctl.sandbox.cloud.faults import FaultBook
from clusterctl.sandbox.cloud.placement import PlacementGroups
from clusterctl.sandbox.cloud.quotas import QuotaBook
from clusterctl.sandbox.cloud.regions import Geography
from clusterctl.sandbox.cloud.reservations import ReservationBook
from clusterctl.sandbox.cloud.timeline import Timeline
from clusterctl.sandbox.scenario import Free, Scenario
from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from datetime import datetime
    from threading import RLock

    from clusterctl.sandbox.clock import SimClock
    from clusterctl.sandbox.cloud.regions import Zone

_GONE = "gone_after_s"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the Kubernetes API of a cluster answers; the authority is base64 of PEM."""

    endpoint: str
    certificate_authority: str


class World:
    """One pretend AWS account. Read and change it while holding `lock` only."""

    account_id = ACCOUNT_ID

    def __init__(self, clock: SimClock, scenario: Scenario) -> None:
        self.clock = clock
        self.timeline = Timeline(clock)
        self.calls = CallLog()
        self.faults = FaultBook()
        self.endpoints: dict[tuple[str, str], Endpoint] = {}  # (region, cluster)
        self.quotas = QuotaBook()
        self.reservations = ReservationBook()
        self.placement_groups = PlacementGroups()
        self.capacity = CapacityPool(self)
        self.score_configurations: dict[str, float] = {}  # spot placement: configuration -> last used
        self.rehearse(scenario)

    @property
    def lock(self) -> RLock:
        return self.timeline.lock

    def now(self) -> datetime:
        """Simulated time, aware, UTC."""
        return self.clock.now()

    def rehearse(self, scenario: Scenario) -> None:
        """Go on by another scenario; what exists stays. Raises UsageError, and changes nothing then."""
        geography = Geography(scenario)
        self.reservations.rehearse(scenario, geography, self.now())
        self.geography = geography
        self.geography.tell_moto()
        self.scenario = scenario
        self.scenario_since = self.clock.timestamp()
        self.quotas.rehearse(scenario)
        self.faults.replace(scenario.faults)

    def reset(self) -> None:
        """Back to an empty account under the same scenario, its faults counted anew."""
        self.timeline.clear()
        self.endpoints.clear()
        self.calls.clear()
        self.reservations.clear()
        self.placement_groups.clear()
        self.capacity.clear()
        self.quotas.requests.clear()
        self.score_configurations.clear()
        self.rehearse(self.scenario)
        self.timeline.changed()

    def stock(self, zone: Zone, instance_type: str) -> int | None:
        """How many instances the scenario puts into a zone, at this moment; None: plenty."""
        shelf = self.scenario.capacity.get(zone.name) or self.scenario.capacity.get(zone.zone_id) or {}
        entry = shelf.get(instance_type)
        if entry is None:
            return None
        free = entry if isinstance(entry, Free) else Free(count=int(entry))
        gone_after = free.gone_after_s if free.gone_after_s is not None else shelf.get(_GONE)
        age = self.clock.timestamp() - self.scenario_since
        is_gone = isinstance(gone_after, (int, float)) and age >= gone_after
        return 0 if is_gone else free.count
