"""Draws progress on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING

from clusterctl.cli.result import note
from clusterctl.engine.documents import event_document
from clusterctl.engine.events import (
    ActionDone,
    ActionStarted,
    Event,
    Notice,
    PlaceFailed,
    RunStarted,
    StageEnded,
    StageStarted,
    Waiting,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from clusterctl.cli.command import Invocation
    from clusterctl.wiring.bench import Bench

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
            case RunStarted() | StageStarted() | ActionDone():
                return ""


class EventConsole(AbstractContextManager["EventConsole"]):
    """Each event as one line of JSON, for programs that watch."""

    def __init__(self, write: Callable[[str], None] = note) -> None:
        self._write = write
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        line = json.dumps(event_document(event))
        with self._lock:
            self._write(line)

    def __exit__(self, *_: object) -> None:
        return None


@dataclass(slots=True)
class _Row:
    needs: tuple[str, ...] = ()
    status: str = "waiting"
    started: datetime | None = None
    seconds: float = 0.0
    message: str = ""
    failures: list[str] = field(default_factory=list)


class LiveConsole(AbstractContextManager["LiveConsole"]):
    """The stages in a table that stays in place: state, time, and what each waits for.

    `expected` are the seconds that a stage took in earlier runs.
    """

    def __init__(self, now: Callable[[], datetime], expected: Mapping[str, float], *, color: bool) -> None:
        self._rows: dict[str, _Row] = {}
        self._expected = expected
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
        if isinstance(event, RunStarted):
            self._rows |= {name: _Row(needs) for name, needs in event.needs}
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
                mark, message = Text(MARKS[row.status], color), Text(row.message or self._reason(row))
                table.add_row(mark, Text(name, color), self._time(name, row), message)
                for failure in row.failures:
                    table.add_row("", "", "", Text(f"✗ {failure}", "red"))
        return table

    def _reason(self, row: _Row) -> str:
        """Why a stage that has not begun does not: the stages before it that are still to end."""
        ahead = [name for name in row.needs if self._rows[name].status in ("waiting", "running")]
        return f"after {', '.join(ahead)}" if row.status == "waiting" and ahead else ""

    def _time(self, name: str, row: _Row) -> str:
        """What has gone by, and while it goes on what earlier runs took."""
        if row.status not in ("waiting", "running"):
            return elapsed(row.seconds) if row.started else ""
        usual = f"~{elapsed(self._expected[name])}" if name in self._expected else ""
        gone = elapsed((self._now() - row.started).total_seconds()) if row.started else ""
        return " / ".join(part for part in (gone, usual) if part)


Console = LineConsole | LiveConsole | EventConsole


def open_console(invocation: Invocation, bench: Bench) -> Console:
    """JSON lines where they are asked for, else the live view on a terminal, and lines elsewhere."""
    if bench.ask.events:
        return EventConsole()
    now = bench.clock.now
    return LiveConsole(now, bench.expected, color=invocation.color) if sys.stderr.isatty() else LineConsole(now())
