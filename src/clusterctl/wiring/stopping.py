"""Ctrl-C and its kin: the first signal asks the run to stop and clean up, the second one leaves at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from clusterctl.errors import InterruptedRunError

ASKS = b"\nstopping: what is in flight is finished or undone; the same again leaves at once\n"
LEAVES = b"\nleaving at once: the next run, or clusterctl teardown, sees to what is in flight\n"


@contextmanager
def stopping(stop: threading.Event) -> Iterator[None]:
    """Set `stop` at the first SIGINT, SIGTERM or SIGHUP; one that is ignored, as under nohup, stays so."""

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            _say(LEAVES)
            os._exit(InterruptedRunError.exit_code)
        stop.set()
        _say(ASKS)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(words: bytes) -> None:
    """Straight to the descriptor: the signal may have come in the middle of a write to sys.stderr."""
    with suppress(OSError):
        os.write(2, words)
