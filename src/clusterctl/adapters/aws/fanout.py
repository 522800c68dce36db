"""Regions side by side: one worker for each, and an answer in time even if one of them hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


def side_by_side(keys: Iterable[K], work: Callable[[K], T], *, limit_s: float) -> dict[K, T]:
    """What `work` answers for each key, those that missed the limit (real seconds) left out.

    The first exception is raised. Workers are daemons: one that hangs must not keep the program from ending.
    """
    answers: dict[K, T] = {}
    problems: list[BaseException] = []

    def run(key: K) -> None:
        try:
            answers[key] = work(key)
        except BaseException as problem:  # noqa: BLE001 - raised below, in the thread that asked
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(key,), daemon=True) for key in keys]
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if problems:
        raise problems[0]
    return dict(answers)
