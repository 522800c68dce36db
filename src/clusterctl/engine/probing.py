"""What probes have shown in this run, so that the probe stage can read it back."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime

from clusterctl.model.capacity import ProbeOutcome, ReservationOrder


class ProbeLedger:
    """Remembers the newest outcome for each place: (region, instance type, zone id, count)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes: dict[tuple[str, str, str, int], ProbeOutcome] = {}

    def record(self, outcomes: Iterable[ProbeOutcome]) -> None:
        with self._lock:
            for outcome in outcomes:
                order = outcome.order
                self._outcomes[order.region, order.instance_type, order.zone_id, order.count] = outcome

    def proved_at(self, order: ReservationOrder) -> datetime | None:
        """When a place was last seen to have room; None if it was not, or found full since."""
        with self._lock:
            known = self._outcomes.get((order.region, order.instance_type, order.zone_id, order.count))
        return known.at if known and known.available else None

    def forget(self) -> None:
        """Drop everything: what was proved before a cluster was made says little once it is gone again."""
        with self._lock:
            self._outcomes.clear()

    def outcomes(self) -> tuple[ProbeOutcome, ...]:
        with self._lock:
            return tuple(self._outcomes.values())
