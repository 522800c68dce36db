"""What could not be removed in this run, and why: remembered, so that the rest is still tried and nothing twice."""

from __future__ import annotations

import threading

from clusterctl.errors import ClusterctlError, InterruptedRunError


class Refusals:
    """Errors by the line of the action that met them. Safe for threads."""

    def __init__(self) -> None:
        self._errors: dict[str, ClusterctlError] = {}
        self._lock = threading.Lock()

    def record(self, line: str, error: ClusterctlError) -> bool:
        """False for an interruption: it is nobody's refusal."""
        if isinstance(error, InterruptedRunError):
            return False
        with self._lock:
            self._errors[line] = error
        return True

    def of(self, line: str) -> ClusterctlError | None:
        with self._lock:
            return self._errors.get(line)
