"""The one loop that waits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_not_result, stop_after_attempt, wait_fixed

from clusterctl.ports import Clock

T = TypeVar("T")


def look_until(clock: Clock, look: Callable[[], T], done: Callable[[T], bool], *, every_s: float, limit_s: float) -> T:
    """Look until `done`, or until the limit, and return what was seen last: the caller judges it once more.

    The limit is a number of looks, so that a slow machine gets no less patience than a fast one.
    """
    loop = Retrying(
        sleep=clock.sleep,
        wait=wait_fixed(every_s),
        stop=stop_after_attempt(max(1, math.ceil(limit_s / every_s))),
        retry=retry_if_not_result(done),
        retry_error_callback=_last_seen,
    )
    return loop(look)


def _last_seen(state: RetryCallState) -> Any:
    return state.outcome.result() if state.outcome else None
