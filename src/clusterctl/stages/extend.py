"""Moves the end of a cluster: on everything that carries its marks, and in the placement file that leads to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from clusterctl.engine.actions import MoveExpiry, Plan, RememberPlacement
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import UsageError
from clusterctl.model.estate import Estate, Lease
from clusterctl.model.placement import Placement
from clusterctl.model.target import Target
from clusterctl.ports import MarkReader, PlacementStore


@dataclass(frozen=True, slots=True)
class ExtendStage:
    """Lets a cluster live for `length` from `now` on, at least: an end that is later already stays."""

    marks: MarkReader
    placement: PlacementStore
    now: datetime
    length: timedelta

    name: ClassVar[str] = "extend"
    requires: ClassVar[tuple[type, ...]] = (Target,)
    provides: ClassVar[type[Lease]] = Lease
    patience_s: ClassVar[float] = 0.0

    def observe(self, inputs: Outputs) -> Lease:
        """Raises UsageError where nothing of ours stands."""
        target = inputs[Target]
        estate = self.marks.estate(target.region, target.cluster)
        if not estate.stands:
            raise UsageError(
                f"nothing that clusterctl made stands as {target.cluster} in {target.region}",
                hint="name it with --cluster-name and --region",
            )
        wanted = _full_minute(self.now + self.length)
        expiry = _expiry(estate)
        until = max(expiry, wanted) if expiry else wanted
        return Lease(estate, self._remembered(target), _spelt(expiry) if expiry else "", _spelt(until))

    def plan(self, inputs: Outputs, observed: Lease) -> Plan:
        target, late, kept = inputs[Target], observed.late, observed.placement
        move: Plan = (MoveExpiry(target.region, target.cluster, observed.until, late),) if late else ()
        if kept is None or kept.expires_at == observed.until:
            return move
        return (*move, RememberPlacement(replace(kept, expires_at=observed.until)))

    def waiting_for(self, inputs: Outputs, observed: Lease) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: Lease) -> Lease:
        return observed

    def _remembered(self, target: Target) -> Placement | None:
        """The placement, if the file is about this cluster."""
        kept = self.placement.load()
        return kept if kept and (kept.region, kept.cluster_name) == (target.region, target.cluster) else None


def _expiry(estate: Estate) -> datetime | None:
    try:
        return estate.expiry
    except ValueError:
        return None


def _full_minute(moment: datetime) -> datetime:
    """Rounded up, so that a second call within the minute finds nothing to do."""
    whole = moment.replace(second=0, microsecond=0)
    return whole if whole == moment else whole + timedelta(minutes=1)


def _spelt(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
