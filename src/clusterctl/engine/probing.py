"""What probes have shown in this run, so that the probe stage can read it back."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from clusterctl.model.capacity import ProbeOutcome


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

    def outcomes(self) -> tuple[ProbeOutcome, ...]:
        with self._lock:
            return tuple(self._outcomes.values())
