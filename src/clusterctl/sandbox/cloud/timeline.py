"""What happens later: jobs in simulated time, run one at a time under the world's lock."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.sandbox.clock import SimClock

_log = logging.getLogger(__name__)
_LONGEST_NAP_S = 60.0


@dataclass(order=True, slots=True)
class Job:
    """A job that waits for its simulated time (seconds since the epoch)."""

    due: float
    order: int
    run: Callable[[], object] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Never run it; nothing happens when it ran already."""
        self.cancelled = True


class Timeline:
    """Jobs in simulated time, and the version that readers of the long poll wait for.

    `lock` is the lock of the whole world: every AWS call and every job runs while holding it.
    """

    def __init__(self, clock: SimClock) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.version = 1
        self._changed = threading.Condition(self.lock)
        self._wake = threading.Condition(threading.Lock())
        self._jobs: list[Job] = []
        self._order = itertools.count()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin to run jobs in a thread of their own."""
        self._thread = threading.Thread(target=self._run, name="timeline", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        if self._thread is not None:
            self._thread.join()

    def schedule(self, delay_s: float, run: Callable[[], object]) -> Job:
        """Run `run` under the world lock once `delay_s` simulated seconds have passed."""
        job = Job(self.clock.timestamp() + max(delay_s, 0.0), next(self._order), run)
        with self._wake:
            heapq.heappush(self._jobs, job)
            self._wake.notify_all()
        return job

    def clear(self) -> None:
        """Forget every waiting job."""
        with self._wake:
            self._jobs.clear()

    def changed(self) -> None:
        """Say that what GET /machines shows has changed."""
        with self._changed:
            self.version += 1
            self._changed.notify_all()

    def wait_for_change(self, after: int, real_seconds: float) -> int:
        """Wait until the version exceeds `after`, or the real seconds have passed; the version then."""
        with self._changed:
            self._changed.wait_for(lambda: self.version > after, timeout=real_seconds)
            return self.version

    def _run(self) -> None:
        while (job := self._next_due()) is not None:
            with self.lock:
                if not job.cancelled:
                    self._run_one(job)

    def _next_due(self) -> Job | None:
        with self._wake:
            while not self._stopped:
                nap = self._real_wait()
                if nap <= 0:
                    return heapq.heappop(self._jobs)
                self._wake.wait(nap)
        return None

    def _real_wait(self) -> float:
        if not self._jobs:
            return _LONGEST_NAP_S
        due_in = self.clock.real_seconds(self._jobs[0].due - self.clock.timestamp())
        return min(due_in, _LONGEST_NAP_S)

    def _run_one(self, job: Job) -> None:
        started = time.monotonic()
        try:
            job.run()
        except Exception:  # noqa: BLE001 - one broken job must not stop time
            _log.exception("a scheduled job failed after %.3f s", time.monotonic() - started)
