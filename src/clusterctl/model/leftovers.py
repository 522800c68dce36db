"""What can remain of a cluster on AWS, whose it is, and what it costs to leave it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing on AWS that belongs to a cluster. `owned` is True only if its own mark says so."""

    kind: str
    resource_id: str
    region: str
    owned: bool
    why: str = ""
    monthly_usd: float | None = None
    command: str = ""
    tags: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_id} in {self.region}"
