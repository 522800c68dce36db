"""Everything in one region that carries the marks of one cluster, when it expires, and what of it may go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from clusterctl.model.capacity import PROBE, TAG_PURPOSE
from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_RUN
from clusterctl.model.failures import Failure
from clusterctl.model.names import nodegroup_stack
from clusterctl.model.placement import Placement
from clusterctl.model.specs import SYSTEM_NODEGROUP

PROBE_GRACE = timedelta(minutes=15)  # a run that lives cancels its probes within a minute or two
ORPHAN_AFTER = timedelta(hours=1)  # a reservation whose cluster has not been begun by then is nobody's


class MarkedKind(StrEnum):
    """What a mark was found on."""

    CLUSTER = "cluster"
    NODEGROUP = "nodegroup"
    STACK = "stack"
    RESERVATION = "capacity-reservation"
    RESOURCE = "resource"  # anything else of EC2


STANDING = frozenset({MarkedKind.CLUSTER, MarkedKind.NODEGROUP, MarkedKind.STACK})


@dataclass(frozen=True, slots=True)
class Marked:
    """One thing with clusterctl's marks. `resource_id` is what tags are set by: an ARN of EKS, an id of EC2."""

    kind: MarkedKind
    resource_id: str
    tags: dict[str, str] = field(hash=False)
    since: datetime | None = None
    name: str = ""
    used: bool = False  # a reservation that instances run in

    @property
    def cluster(self) -> str:
        return self.tags.get(TAG_CLUSTER, "")

    @property
    def expiry(self) -> datetime | None:
        """None without an expiry. Raises ValueError for one that nobody can read."""
        return read_expiry(self.tags.get(TAG_EXPIRES, ""))

    @property
    def is_probe(self) -> bool:
        return self.tags.get(TAG_PURPOSE) == PROBE


def read_expiry(text: str) -> datetime | None:
    """The moment that a tag names; UTC where it says no zone. Raises ValueError for what is no date."""
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_marked(tags: dict[str, str]) -> bool:
    """Both marks have to be there: one alone may have been copied."""
    return bool(tags.get(TAG_RUN)) and bool(tags.get(TAG_CLUSTER))


@dataclass(frozen=True, slots=True)
class Estate:
    """What carries the marks of one cluster in one region. `foreign`: a cluster of that name is somebody else's."""

    region: str
    cluster: str
    things: tuple[Marked, ...]
    foreign: bool = False

    @property
    def name(self) -> str:
        return f"{self.region}/{self.cluster}"

    @property
    def head(self) -> Marked | None:
        """The EKS cluster itself, where it stands and is ours."""
        return next((one for one in self.things if one.kind is MarkedKind.CLUSTER), None)

    @property
    def stands(self) -> bool:
        return any(one.kind in STANDING for one in self.things)

    @property
    def expiry(self) -> datetime | None:
        """The cluster's own; without a cluster the latest of all: a stack keeps the tags of its making."""
        if self.head is not None:
            return self.head.expiry
        known = [moment for one in self.things if (moment := one.expiry)]
        return max(known, default=None)

    @property
    def since(self) -> datetime | None:
        chosen = [self.head] if self.head else self.things
        return min((one.since for one in chosen if one and one.since), default=None)

    @property
    def reservations(self) -> tuple[Marked, ...]:
        return tuple(one for one in self.things if one.kind is MarkedKind.RESERVATION)

    @property
    def nodegroups(self) -> tuple[str, ...]:
        """Names of the node groups of ours but for the system nodes', which go with the cluster."""
        prefix = nodegroup_stack(self.cluster, "")
        stacks = (one.name.removeprefix(prefix) for one in self.things if one.name.startswith(prefix))
        groups = (one.name for one in self.things if one.kind is MarkedKind.NODEGROUP)
        return tuple(sorted({*stacks, *groups} - {SYSTEM_NODEGROUP}))


@dataclass(frozen=True, slots=True)
class Lease:
    """How long a cluster may live, and what says so. `until` is an expiry as tags spell it."""

    estate: Estate
    placement: Placement | None
    before: str
    until: str

    @property
    def late(self) -> tuple[str, ...]:
        """The ids of what still says another end."""
        return tuple(one.resource_id for one in self.taggable if one.tags.get(TAG_EXPIRES, "") != self.until)

    @property
    def taggable(self) -> tuple[Marked, ...]:
        """All but stacks, whose tags are those of their making: to change them is to update what is in them."""
        return tuple(one for one in self.estate.things if one.kind is not MarkedKind.STACK)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a search by mark found, clusters of others that it met, and the regions that did not say."""

    estates: tuple[Estate, ...] = ()
    strangers: tuple[tuple[str, str], ...] = ()  # (region, cluster)
    problems: dict[str, Failure] = field(default_factory=dict, hash=False)  # region -> why it is not searched


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as over. With `older_than`, so does what has no expiry and is older; None leaves that alone."""

    now: datetime
    older_than: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to become of an estate: all of it goes, or the reservations that nobody waits for, or nothing."""

    estate: Estate
    goes: bool
    why: str
    strays: dict[str, str] = field(default_factory=dict, hash=False)  # reservation -> why it is cancelled

    @property
    def acts(self) -> bool:
        return self.goes or bool(self.strays)


def judge(estate: Estate, rules: Rules) -> Judgement:
    """An expiry that cannot be read is none that has passed."""
    try:
        expiry = estate.expiry
    except ValueError:
        return Judgement(estate, goes=False, why=f"its {TAG_EXPIRES} is no date")
    if expiry is not None and expiry <= rules.now:
        return Judgement(estate, goes=True, why=f"expired at {_said(expiry)}")
    if expiry is None and estate.stands and _older(estate.since, rules.older_than, rules.now):
        return Judgement(estate, goes=True, why=f"has no expiry and exists since {_said(estate.since)}")
    why = f"expires at {_said(expiry)}" if expiry else "has no expiry"
    return Judgement(estate, goes=False, why=why, strays=dict(_strays(estate, rules)))


def _strays(estate: Estate, rules: Rules) -> Iterator[tuple[str, str]]:
    for one in estate.reservations:
        if why := _stray(one, estate, rules):
            yield one.resource_id, why


def _stray(one: Marked, estate: Estate, rules: Rules) -> str:
    """Why a reservation is nobody's any more; empty while it may be wanted."""
    if one.used:
        return ""
    if one.is_probe:
        return "left by a probe that was killed" if _older(one.since, PROBE_GRACE, rules.now) else ""
    if estate.stands:
        return ""
    expiry = one.expiry
    if expiry is not None:
        return f"expired at {_said(expiry)}" if expiry <= rules.now else ""
    age = rules.older_than if rules.older_than is not None else ORPHAN_AFTER
    return "held for a cluster that is not there" if _older(one.since, age, rules.now) else ""


def _older(since: datetime | None, age: timedelta | None, now: datetime) -> bool:
    return since is not None and age is not None and now - since > age


def _said(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if moment else "an unknown time"


def estates_of(region: str, things: Iterable[Marked], strangers: Iterable[str]) -> tuple[Estate, ...]:
    """Things of one region by the cluster that their marks name."""
    by_cluster: dict[str, list[Marked]] = {}
    for one in things:
        by_cluster.setdefault(one.cluster, []).append(one)
    others = set(strangers)
    return tuple(Estate(region, name, tuple(found), name in others) for name, found in sorted(by_cluster.items()))
