"""The state behind AWS that all parts share: time, scenario, faults, calls, endpoints and capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.cloud.calls import CallLog
from clusterctl.sandbox.cloud.capacity import CapacityPool
from clusterctl.sandbox.cloud.faults import FaultBook
from clusterctl.sandbox.cloud.timeline import Timeline
from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from datetime import datetime
    from threading import RLock

    from clusterctl.sandbox.clock import SimClock
    from clusterctl.sandbox.scenario import Scenario


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
        self.scenario = scenario
        self.scenario_since = clock.timestamp()
        self.capacity = CapacityPool()
        self.rehearse(scenario)

    @property
    def lock(self) -> RLock:
        return self.timeline.lock

    def now(self) -> datetime:
        """Simulated time, aware, UTC."""
        return self.clock.now()

    def rehearse(self, scenario: Scenario) -> None:
        """Go on by another scenario; what exists stays."""
        self.scenario = scenario
        self.scenario_since = self.clock.timestamp()
        self.faults.replace(scenario.faults)

    def reset(self) -> None:
        """Back to an empty account under the same scenario, its faults counted anew."""
        self.timeline.clear()
        self.endpoints.clear()
        self.calls.clear()
        self.rehearse(self.scenario)
        self.timeline.changed()
