"""Draws progress on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING

from clusterctl.cli.result import note
from clusterctl.engine.events import (
    ActionDone,
    ActionStarted,
    Event,
    Notice,
    PlaceFailed,
    StageEnded,
    StageStarted,
    Waiting,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

MARKS = {"done": "✓", "unchanged": "=", "failed": "✗", "skipped": "·", "running": "…", "waiting": " "}
COLORS = {"done": "green", "unchanged": "green", "failed": "red", "skipped": "dim", "running": "cyan", "waiting": "dim"}


def elapsed(seconds: float) -> str:
    """`1:02:03` or `02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


class LineConsole(AbstractContextManager["LineConsole"]):
    """One line for each thing that happened, with the time since the start; what is waited for only when it changes."""

    def __init__(self, start: datetime, write: Callable[[str], None] = note) -> None:
        self._start = start
        self._write = write
        self._lock = threading.Lock()
        self._said: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        with self._lock:
            line = self._line(event)
            if line:
                self._write(f"{elapsed((event.at - self._start).total_seconds())}  {line}")

    def __exit__(self, *_: object) -> None:
        return None

    def _line(self, event: Event) -> str:
        match event:
            case ActionStarted(stage=stage, action=action):
                return f"{stage:<10} {action.effect.value} {action}"
            case Waiting(stage=stage, message=message):
                if not message or self._said.get(stage) == message:
                    return ""
                self._said[stage] = message
                return f"{stage:<10}   {message}"
            case PlaceFailed(stage=stage, place=place, reason=reason):
                return f"{stage:<10} ✗ {place}: {reason}"
            case StageEnded(stage=stage, status=status, seconds=seconds, message=message):
                return f"{stage:<10} {MARKS[status]} {status} in {elapsed(seconds)}" + (
                    f": {message}" if message else ""
                )
            case Notice(message=message):
                return message
            case StageStarted() | ActionDone():
                return ""


@dataclass(slots=True)
class _Row:
    status: str = "waiting"
    started: datetime | None = None
    seconds: float = 0.0
    message: str = ""
    failures: list[str] = field(default_factory=list)


class LiveConsole(AbstractContextManager["LiveConsole"]):
    """The stages in a table that stays in place: state, time, and what each waits for."""

    def __init__(self, stages: tuple[str, ...], now: Callable[[], datetime], *, color: bool) -> None:
        self._rows = {name: _Row() for name in stages}
        self._now = now
        self._color = color
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __enter__(self) -> LiveConsole:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=sys.stderr, no_color=not self._color, highlight=False)
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=6)
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, Notice):
            if self._live:
                self._live.console.print(event.message)
            return
        row = self._rows.setdefault(event.stage, _Row())
        match event:
            case StageStarted(at=at):
                row.status, row.started = "running", at
            case ActionStarted(action=action):
                row.message = str(action)
            case Waiting(message=message):
                row.message = message or row.message
            case PlaceFailed(place=place, reason=reason):
                row.failures.append(f"{place}: {reason}")
            case StageEnded(status=status, seconds=seconds, message=message):
                row.status, row.seconds, row.message = status, seconds, message
            case ActionDone():
                row.message = ""

    def _render(self) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        table.add_column(width=1)
        table.add_column(min_width=10)
        table.add_column(justify="right", min_width=5)
        table.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
        with self._lock:
            for name, row in self._rows.items():
                color = COLORS[row.status]
                table.add_row(Text(MARKS[row.status], color), Text(name, color), self._time(row), Text(row.message))
                for failure in row.failures:
                    table.add_row("", "", "", Text(f"✗ {failure}", "red"))
        return table

    def _time(self, row: _Row) -> str:
        if row.started is None:
            return ""
        running = row.status == "running"
        return elapsed((self._now() - row.started).total_seconds() if running else row.seconds)


Console = LineConsole | LiveConsole


def open_console(stages: tuple[str, ...], now: Callable[[], datetime], *, color: bool) -> Console:
    """The live view on a terminal, lines elsewhere."""
    if sys.stderr.isatty():
        return LiveConsole(stages, now, color=color)
    return LineConsole(now())
