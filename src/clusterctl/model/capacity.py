"""What the regions can offer: the facts of a survey, and what each place amounts to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from clusterctl.model.failures import Failure
from clusterctl.model.instances import InstanceType

TAG_PURPOSE = "clusterctl:purpose"
PROBE = "probe"
HOLD = "hold"
ZONES_WITHOUT_EKS = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})  # EKS user guide, network requirements


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for. `zones` limits the search to zone names or ids; empty means every zone."""

    instance_types: tuple[str, ...]
    nodes: int
    regions: tuple[str, ...]
    zones: tuple[str, ...] = ()
    cluster: str = ""
    reservation_id: str = ""
    priced: tuple[str, ...] = ()  # further instance types whose price is wanted


@dataclass(frozen=True, slots=True)
class Zone:
    """An availability zone of this account: the name differs between accounts, the id does not."""

    name: str
    zone_id: str

    @property
    def runs_eks(self) -> bool:
        return self.zone_id not in ZONES_WITHOUT_EKS


@dataclass(frozen=True, slots=True)
class Quota:
    """On-Demand vCPUs: what the account may run and what it runs now. None where AWS would not say."""

    code: str
    limit: float | None
    used: int | None
    problem: str = ""

    def verdict(self, needed: int) -> str:
        """`ok`, `short` or `unknown`: absent permission is never "no quota"."""
        if self.limit is None or self.used is None:
            return "short" if self.limit is not None and needed > self.limit else "unknown"
        return "ok" if self.used + needed <= self.limit else "short"


@dataclass(frozen=True, slots=True)
class Reservation:
    """A capacity reservation or capacity block of the account."""

    reservation_id: str
    region: str
    zone: str
    zone_id: str
    instance_type: str
    total: int
    available: int
    state: str
    is_block: bool = False
    match_criteria: str = "targeted"
    platform: str = "Linux/UNIX"
    tenancy: str = "default"
    start: datetime | None = None
    end: datetime | None = None
    placement_group_arn: str = ""
    owner_id: str = ""
    tags: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_probe(self) -> bool:
        """True if it was made as proof of capacity only, to be cancelled at once."""
        return self.tags.get(TAG_PURPOSE) == PROBE

    @property
    def is_hold(self) -> bool:
        """True if it was made to keep proved capacity until the nodes have joined."""
        return self.tags.get(TAG_PURPOSE) == HOLD


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """All that one region said. A part that it refused to say is None, with the reason in `problems`."""

    region: str
    zones: tuple[Zone, ...] = ()
    types: dict[str, InstanceType] = field(default_factory=dict, hash=False)
    offered: frozenset[tuple[str, str]] = frozenset()  # (instance type, zone id)
    quotas: dict[str, Quota] = field(default_factory=dict, hash=False)  # by quota code
    scores: dict[tuple[str, str], int] = field(default_factory=dict, hash=False)  # (instance type, zone id)
    subnets: dict[str, str] | None = field(default=None, hash=False)  # zone name -> private subnet; None: no cluster
    free_addresses: dict[str, int] = field(default_factory=dict, hash=False)  # zone name -> addresses in that subnet
    reservations: tuple[Reservation, ...] = ()
    prices: dict[str, float] = field(default_factory=dict, hash=False)  # instance type -> USD an hour
    problems: dict[str, Failure] = field(default_factory=dict, hash=False)  # part of the survey -> why it is missing


class Source(Enum):
    """How we know that a place has capacity."""

    PROBE = "probe"
    RESERVATION = "reservation"
    CAPACITY_BLOCK = "capacity-block"
    UNPROBED = "unprobed"


class Verdict(Enum):
    """What a place amounts to."""

    AVAILABLE = "available"
    NO_CAPACITY = "no-capacity"
    QUOTA = "quota"
    NOT_OFFERED = "not-offered"
    DENIED = "denied"
    THROTTLED = "throttled"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReservationOrder:
    """A reservation to be asked for. With one token and one end date, a repeated call makes no second one.

    `lifetime_s` counts from the first call: the reservation ends by itself when nobody is left to cancel it.
    """

    region: str
    zone: str
    zone_id: str
    instance_type: str
    count: int
    client_token: str
    lifetime_s: float = 900.0
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        return (self.instance_type, self.zone_id)


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """What came of one order: had it or not, and since when we know. `held`: it stands on purpose."""

    order: ReservationOrder
    at: datetime
    failure: Failure | None = None
    reservation_id: str = ""
    cancelled: bool = True
    held: bool = False

    @property
    def available(self) -> bool:
        return self.failure is None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance type in one zone, with everything known of it and the verdict."""

    region: str
    zone: str
    zone_id: str
    instance_type: str
    nodes: int
    offered: bool
    quota: Quota | None
    needed_vcpus: int
    spot_score: int | None
    subnet: str  # yes | no | no-cluster | unknown
    source: Source
    verdict: Verdict
    reason: str
    hourly_usd: float | None
    rank: int = 0
    subnet_id: str = ""
    reservation_id: str = ""

    @property
    def usable(self) -> bool:
        """True where nodes may be asked for: capacity is proved, or nobody has looked for proof yet."""
        unproved = self.verdict is Verdict.UNKNOWN and self.source is Source.UNPROBED
        return self.offered and (self.verdict is Verdict.AVAILABLE or unproved)
