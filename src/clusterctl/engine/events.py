"""Progress as data: the console draws it, a log prints it, nothing decides by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from clusterctl.engine.actions import Action


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The graph of a run: each stage, in an order in which they could run, and those that it stands on."""

    at: datetime
    needs: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class StageStarted:
    at: datetime
    stage: str


@dataclass(frozen=True, slots=True)
class ActionStarted:
    at: datetime
    stage: str
    action: Action


@dataclass(frozen=True, slots=True)
class ActionDone:
    at: datetime
    stage: str
    action: Action


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a stage waits for, in the words of whoever it waits for."""

    at: datetime
    stage: str
    message: str


@dataclass(frozen=True, slots=True)
class PlaceFailed:
    at: datetime
    stage: str
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class StageEnded:
    """`status` is done, unchanged, failed or skipped."""

    at: datetime
    stage: str
    status: str
    seconds: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the user should know, and that stops nothing."""

    at: datetime
    message: str


Event = RunStarted | StageStarted | ActionStarted | ActionDone | Waiting | PlaceFailed | StageEnded | Notice


class EventSink(Protocol):
    def __call__(self, event: Event) -> None: ...
