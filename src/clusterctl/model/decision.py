"""What was asked, what was remembered, and what was decided: where the GPU nodes are to live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from clusterctl.errors import BusyError
from clusterctl.model.budget import Budget
from clusterctl.model.capacity import Candidate, ProbeOutcome, Question, Reservation, Source, Verdict, Zone
from clusterctl.model.cluster import NodegroupState
from clusterctl.model.failures import Failure
from clusterctl.model.instances import InstanceType
from clusterctl.model.placement import Placement
from clusterctl.model.ranking import choose, verdict_of
from clusterctl.model.run import RunContext


@dataclass(frozen=True, slots=True)
class Asked:
    """What this run looks for and how: `probe` spends money on proof, `hold` keeps what proved it until nodes have
    joined, `save` remembers the answer.
    """

    question: Question
    nodegroup: str
    probe: bool = False
    save: bool = True
    gpus_per_node: int | None = None
    hold: bool = False
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True)
class Remembered:
    """The placement file as the run found it, and the settings that the caller said in this run (upper case)."""

    placement: Placement | None = None
    explicit: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Decision:
    """The places that were looked at, best first, and all that later stages need to know of the region chosen.

    `live` says that a node group stands there already and the decision was read back, not made. `pending` says that
    one is being made which EKS does not show yet: until then nobody can say where.
    """

    candidates: tuple[Candidate, ...]
    kinds: dict[str, InstanceType] = field(default_factory=dict, hash=False)  # by instance type
    region_zones: dict[str, tuple[Zone, ...]] = field(default_factory=dict, hash=False)  # region -> its zones
    prices: dict[str, dict[str, float]] = field(default_factory=dict, hash=False)  # region -> type -> USD an hour
    reservation: Reservation | None = None  # the one that the user named
    remembered: Placement | None = None
    probed: bool = False
    live: bool = False
    outcomes: tuple[ProbeOutcome, ...] = ()
    strays: tuple[Reservation, ...] = ()  # probe reservations that an earlier run was killed over
    notices: tuple[str, ...] = ()  # parts of the survey that AWS would not answer, in words
    pending: str = ""

    @property
    def candidate(self) -> Candidate:
        """The best place. Raises what says best why there is none: no capacity, quota, or permission."""
        if self.pending:
            raise BusyError(self.pending, hint="run this again in a minute")
        return choose(self.candidates)

    @property
    def kind(self) -> InstanceType:
        return self.kinds[self.candidate.instance_type]

    @property
    def zones(self) -> tuple[str, ...]:
        """Names of the zones of the chosen region in which the asked types could ever land, best first."""
        place = self.candidate
        names = [one.zone for one in self.candidates if one.region == place.region and one.offered]
        return tuple(dict.fromkeys((place.zone, *names)))

    @property
    def all_zones(self) -> tuple[Zone, ...]:
        """Every zone of the chosen region, those that cannot run EKS included."""
        return self.region_zones.get(self.candidate.region, ())

    def in_region(self) -> tuple[Candidate, ...]:
        """The usable places of the chosen region, best first: where a node group may fall back to."""
        place = self.candidate
        return tuple(one for one in self.candidates if one.region == place.region and one.usable)


def nodes_of(decision: Decision, group: NodegroupState | None) -> tuple[str, str, int] | None:
    """Region, type and number of the GPU nodes: those that came to stand, after a fall-back maybe, else the best place.

    None where no place can be used.
    """
    if group and group.instance_type:
        return group.region, group.instance_type, group.desired
    best = next((one for one in decision.candidates if one.usable), None)
    return (best.region, best.instance_type, best.nodes) if best else None


def standing_first(
    candidates: Sequence[Candidate], state: NodegroupState, reservation: Reservation | None
) -> tuple[Candidate, ...]:
    """The place where a node group stands, then the others as they were ranked."""
    here = [one for one in candidates if one.zone in state.zones]
    if not here:
        return tuple(candidates)
    source = Source.UNPROBED
    if reservation:
        source = Source.CAPACITY_BLOCK if reservation.is_block else Source.RESERVATION
    standing = replace(
        here[0],
        offered=True,
        verdict=Verdict.AVAILABLE,
        source=source,
        reason=f"node group {state.name} stands here ({state.status})",
        subnet="yes",
        subnet_id=next(iter(state.subnets), here[0].subnet_id),
        reservation_id=state.named_reservation,
    )
    others = [one for one in candidates if one is not here[0]]
    return tuple(replace(one, rank=number) for number, one in enumerate((standing, *others), start=1))


def after_failures(
    candidates: Sequence[Candidate], failures: Mapping[tuple[str, str, str], Failure]
) -> tuple[Candidate, ...]:
    """The same places once launches have shown more of them: those that failed in this run come last, with the reason.

    `failures` are told by region, instance type and zone name.
    """
    seen = [_failed(one, failures.get((one.region, one.instance_type, one.zone))) for one in candidates]
    ordered = sorted(seen, key=lambda one: not one.usable)
    return tuple(replace(one, rank=number) for number, one in enumerate(ordered, start=1))


def _failed(one: Candidate, failure: Failure | None) -> Candidate:
    if failure is None:
        return one
    reason = failure.message or failure.code
    return replace(one, source=Source.PROBE, verdict=verdict_of(failure), reason=reason, reservation_id="")


def remembered_first(decision: Decision) -> Decision:
    """The place that the placement file names, then the others as ranked; with a notice where it cannot be."""
    before = decision.remembered
    if decision.live or before is None or not before.gpu_az:
        return decision
    named = (before.gpu_az, before.gpu_node_type)
    here = [one for one in decision.candidates if (one.zone, one.instance_type) == named and one.usable]
    if not here:
        notice = f"the placement file names {before.gpu_az}, which is not asked for or cannot be used"
        return replace(decision, notices=(*decision.notices, notice))
    ordered = (here[0], *(one for one in decision.candidates if one is not here[0]))
    candidates = tuple(replace(one, rank=number) for number, one in enumerate(ordered, start=1))
    return replace(decision, candidates=candidates)


def placement_of(candidate: Candidate, asked: Asked, run: RunContext, before: Placement | None) -> Placement:
    """The placement to remember. What belongs to the cluster, not to the choice of a zone, stays as it was."""
    fresh = Placement(
        account_id=run.account_id,
        region=candidate.region,
        cluster_name=run.cluster,
        gpu_az=candidate.zone,
        gpu_az_id=candidate.zone_id,
        gpu_subnet=candidate.subnet_id,
        gpu_node_type=candidate.instance_type,
        gpu_node_count=candidate.nodes,
        gpu_nodegroup_name=asked.nodegroup,
        capacity_reservation_id="" if candidate.source is Source.PROBE else candidate.reservation_id,
        capacity_source=candidate.source.value,
        run_id=run.run_id,
        expires_at=run.expires_at.isoformat(timespec="seconds") if run.expires_at else "",
        kubeconfig=run.kubeconfig(candidate.region),
    )
    if before is None or (before.region, before.cluster_name) != (fresh.region, fresh.cluster_name):
        return fresh
    same_place = (before.gpu_az, before.gpu_node_type) == (fresh.gpu_az, fresh.gpu_node_type)
    return replace(
        fresh,
        gpu_subnet=fresh.gpu_subnet or (before.gpu_subnet if same_place else ""),
        run_id=before.run_id or fresh.run_id,
        expires_at=before.expires_at or fresh.expires_at,
        kubeconfig=fresh.kubeconfig or before.kubeconfig,
        capacity_source=_source(candidate, before) if same_place else fresh.capacity_source,
    )


def _source(candidate: Candidate, before: Placement) -> str:
    """A place that was proved once stays proved: its own nodes now fill what a new probe would look for."""
    known = before.capacity_source
    return known if known and candidate.source is Source.UNPROBED else candidate.source.value
