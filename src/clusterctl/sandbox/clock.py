"""Simulated time: minutes of AWS pass in parts of a second."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

DEFAULT_SPEED = 600.0


@dataclass(frozen=True, slots=True)
class SimClock:
    """Maps real seconds to simulated ones; every process of one sandbox holds an equal copy."""

    real_origin: float
    sim_origin: float
    speed: float = DEFAULT_SPEED

    @classmethod
    def starting_now(cls, speed: float = DEFAULT_SPEED) -> SimClock:
        now = time.time()
        return cls(real_origin=now, sim_origin=now, speed=speed)

    @classmethod
    def from_json(cls, data: dict[str, float]) -> SimClock:
        return cls(**data)

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    def timestamp(self) -> float:
        """Simulated seconds since the epoch."""
        return self.sim_origin + (time.time() - self.real_origin) * self.speed

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.timestamp(), UTC)

    def sleep(self, seconds: float) -> None:
        """Wait for simulated seconds."""
        time.sleep(max(seconds, 0.0) / self.speed)

    def real_seconds(self, seconds: float) -> float:
        """How long simulated seconds last on the wall."""
        return seconds / self.speed

    def at_speed(self, speed: float) -> SimClock:
        """The same instant, going on at another speed."""
        return SimClock(real_origin=time.time(), sim_origin=self.timestamp(), speed=speed)
