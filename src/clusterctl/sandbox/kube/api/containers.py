"""What a kubelet would serve of running containers: their logs, and emulated commands. No process is ever started."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.sandbox.kube.api import commands
from clusterctl.sandbox.kube.api.resources import PODS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from clusterctl.sandbox.kube.api.commands import Files, Outcome
    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.store import Change

MAX_COMMANDS = 100
MAX_LINES = 10_000  # of one pod; a kubelet rotates at 10 MiB
_ENDED = frozenset(["Failed", "Succeeded"])


class Line(NamedTuple):
    """One line of a container's log."""

    at: datetime
    container: str
    text: str


@dataclass(slots=True)
class PodState:
    """Everything emulated of one pod."""

    lines: list[Line] = field(default_factory=list)
    dropped: int = 0  # lines that were rotated away, so that readers can count on
    ended: bool = False
    answers: list[tuple[re.Pattern[str], Outcome]] = field(default_factory=list)
    files: Files = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)  # what was run here, for simulated programs that are told so
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def notify(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def lines_after(self, count: int) -> list[Line]:
        """The lines after the first `count` ones ever written."""
        return self.lines[max(count - self.dropped, 0) :]


@dataclass(slots=True)
class Containers:
    """The pods' states by uid; forgets a pod when it is removed."""

    now: Callable[[], datetime]
    _pods: dict[str, PodState] = field(default_factory=lambda: defaultdict(PodState))

    def of(self, pod: Object) -> PodState:
        return self._pods[pod["metadata"]["uid"]]

    def append(self, pod: Object, container: str, texts: Sequence[str]) -> None:
        state, at = self.of(pod), self.now()
        state.lines += [Line(at, container, text) for text in texts]
        excess = len(state.lines) - MAX_LINES
        if excess > 0:
            del state.lines[:excess]
            state.dropped += excess
        state.notify()

    def answer(self, pod: Object, pattern: re.Pattern[str], outcome: Outcome) -> None:
        """The newest answer that matches is given first; one to the same pattern takes the older one's place."""
        state = self.of(pod)
        others = [one for one in state.answers if one[0].pattern != pattern.pattern]
        state.answers = [(pattern, outcome), *others]

    def run(self, pod: Object, words: Sequence[str], stdin: bytes) -> Outcome:
        """What a command gives: a canned answer, or that of a small emulated shell."""
        state = self.of(pod)
        text = " ".join(words)
        state.commands = [
            *state.commands[-MAX_COMMANDS:],
            text + (f"\n{stdin.decode(errors='replace')}" if stdin else ""),
        ]
        for pattern, outcome in state.answers:
            if pattern.search(text):
                return outcome
        state.files.setdefault("/etc/hostname", f"{pod['metadata']['name']}\n".encode())
        return commands.run(words, stdin, state.files)

    def on_change(self, change: Change) -> None:
        if change.storage != PODS:
            return
        uid = change.subject["metadata"]["uid"]
        phase = (change.subject.get("status") or {}).get("phase")
        state = self._pods.get(uid)
        if state is not None and (change.new is None or phase in _ENDED):
            state.ended = True
            state.notify()
        if change.new is None:
            self._pods.pop(uid, None)
