"""What a rule is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

Hit = tuple[int, str]  # the line, and what is wrong there
Check = Callable[[Any], Iterable[Hit]]


class Severity(Enum):
    """`error`: the job fails, hangs or trains something else. `warning`: it runs, and wastes or risks something."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """One mistake: its stable id, why it hurts, what to do instead, and how each kind of file is checked for it."""

    rule_id: str
    severity: Severity
    reason: str
    fix: str
    manifest: Check | None = None
    values: Check | None = None
    script: Check | None = None
    code: Check | None = None


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A rule that a file breaks, and where. Lines count from 1."""

    path: str
    line: int
    rule_id: str
    message: str
    severity: str
    reason: str
    fix: str
