"""Which place is best, and for each other place the reason why it is not. Pure, and the same for the same facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from clusterctl.errors import (
    AccessError,
    CapacityUnavailableError,
    ClusterctlError,
    QuotaTooSmallError,
)
from clusterctl.model.capacity import (
    Candidate,
    ProbeOutcome,
    Question,
    Quota,
    RegionFacts,
    Reservation,
    Source,
    Verdict,
    Zone,
)
from clusterctl.model.documents import candidates_document
from clusterctl.model.failures import Cause, Failure
from clusterctl.model.instances import InstanceType, quota_code

Place = tuple[str, str, str]  # region, instance type, zone id
Judgement = tuple[Verdict, str, Source]

_VERDICTS = {
    Cause.CAPACITY: Verdict.NO_CAPACITY,
    Cause.QUOTA: Verdict.QUOTA,
    Cause.NOT_OFFERED: Verdict.NOT_OFFERED,
    Cause.DENIED: Verdict.DENIED,
    Cause.CREDENTIALS: Verdict.DENIED,
    Cause.ACCOUNT: Verdict.DENIED,
    Cause.THROTTLED: Verdict.THROTTLED,
}
_NEARNESS = (  # how near to usable a place is that cannot be used
    Verdict.AVAILABLE, Verdict.UNKNOWN, Verdict.THROTTLED, Verdict.DENIED,
    Verdict.NO_CAPACITY, Verdict.QUOTA, Verdict.SKIPPED, Verdict.NOT_OFFERED,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place with all that is known of it."""

    question: Question
    facts: RegionFacts
    zone: Zone
    type_name: str
    outcome: ProbeOutcome | None = None
    reservation: Reservation | None = None

    @property
    def kind(self) -> InstanceType | None:
        return self.facts.types.get(self.type_name)

    @property
    def offered(self) -> bool:
        return (self.type_name, self.zone.zone_id) in self.facts.offered

    @property
    def needed_vcpus(self) -> int:
        return self.kind.vcpus * self.question.nodes if self.kind else 0

    @property
    def quota(self) -> Quota | None:
        return self.facts.quotas.get(quota_code(self.type_name))

    @property
    def subnet(self) -> str:
        if "subnets" in self.facts.problems:
            return "unknown"
        if self.facts.subnets is None:
            return "no-cluster"
        return "yes" if self.zone.name in self.facts.subnets else "no"


def _silence(failure: Failure) -> Verdict:
    """What a question that was not answered says of a place: at most that we were refused."""
    verdict = verdict_of(failure)
    return verdict if verdict in (Verdict.DENIED, Verdict.THROTTLED) else Verdict.UNKNOWN


def verdict_of(failure: Failure) -> Verdict:
    """What a failure says of a place. Nothing but a lack of capacity is "no capacity"."""
    return _VERDICTS.get(failure.cause, Verdict.UNKNOWN)


def rank(
    question: Question,
    facts: Iterable[RegionFacts],
    outcomes: Iterable[ProbeOutcome] = (),
    reservation: Reservation | None = None,
) -> tuple[Candidate, ...]:
    """Every place once, best first: usable before unusable, then the user's order of types, then proof and the rest.

    With a `reservation` its own place is the only one.
    """
    known = {
        (one.order.region, one.order.instance_type, one.order.zone_id): one
        for one in outcomes
        if one.order.count == question.nodes
    }
    candidates = [
        _candidate(_Spot(question, region, zone, name, known.get((region.region, name, zone.zone_id)), reservation))
        for region in facts
        for zone in _zones(question, region, reservation)
        for name in ((reservation.instance_type,) if reservation else question.instance_types)
    ]
    ordered = sorted(candidates, key=lambda one: _order(question, one))
    return tuple(replace(one, rank=number) for number, one in enumerate(ordered, start=1))


def choose(candidates: Iterable[Candidate]) -> Candidate:
    """The best usable place. Raises the error that says best why there is none."""
    ranked = tuple(candidates)
    for candidate in ranked:
        if candidate.usable:
            return candidate
    raise _nowhere(ranked).with_document(candidates_document(ranked))


def increase_command(quota: Quota, needed: int, region: str) -> str:
    """The AWS CLI command that asks for enough quota."""
    wanted = (quota.used or 0) + needed
    return (
        f"aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {quota.code}"
        f" --desired-value {wanted} --region {region}"
    )


def _zones(question: Question, facts: RegionFacts, reservation: Reservation | None) -> tuple[Zone, ...]:
    """The zones in question; one without a name stands for a region that would not say."""
    if reservation:
        here = reservation.region == facts.region
        return (Zone(reservation.zone, reservation.zone_id),) if here else ()
    if not facts.zones:
        return (Zone("", ""),)
    return tuple(
        zone
        for zone in facts.zones
        if not question.zones or zone.name in question.zones or zone.zone_id in question.zones
    )


def _candidate(spot: _Spot) -> Candidate:
    facts = spot.facts
    verdict, reason, source = _judge(spot)
    price = facts.prices.get(spot.type_name)
    return Candidate(
        region=facts.region,
        zone=spot.zone.name,
        zone_id=spot.zone.zone_id,
        instance_type=spot.type_name,
        nodes=spot.question.nodes,
        offered=spot.offered,
        quota=spot.quota,
        needed_vcpus=spot.needed_vcpus,
        spot_score=facts.scores.get((spot.type_name, spot.zone.zone_id)),
        subnet=spot.subnet,
        source=source,
        verdict=verdict,
        reason=reason,
        hourly_usd=None if price is None else round(price * spot.question.nodes, 4),
        subnet_id=(facts.subnets or {}).get(spot.zone.name, ""),
        reservation_id=_reservation_id(spot),
    )


def _reservation_id(spot: _Spot) -> str:
    if spot.reservation:
        return spot.reservation.reservation_id
    return spot.outcome.reservation_id if spot.outcome and spot.outcome.held else ""


def _judge(spot: _Spot) -> Judgement:
    if obstacle := _out_of_place(spot) or _unheard(spot) or _impossible(spot):
        return (*obstacle, Source.UNPROBED)
    if spot.reservation:
        return _reserved(spot.reservation)
    if spot.outcome:
        return (*_proved(spot.outcome), Source.PROBE)
    if obstacle := _short_quota(spot):
        return (*obstacle, Source.UNPROBED)
    return Verdict.UNKNOWN, _unproved(spot), Source.UNPROBED


def _out_of_place(spot: _Spot) -> tuple[Verdict, str] | None:
    """What the zone itself forbids, whatever else is known of it."""
    zone = spot.zone
    if zone.name and spot.offered and not zone.runs_eks:
        return Verdict.SKIPPED, f"EKS cannot run in {zone.name} ({zone.zone_id})"
    if zone.name and spot.offered and spot.subnet == "no":
        where = f"where cluster {spot.question.cluster} could put nodes"
        return Verdict.SKIPPED, f"no private subnet in {zone.name}, {where}"
    return None


def _unheard(spot: _Spot) -> tuple[Verdict, str] | None:
    """What AWS would not tell about the region, where nothing can be said without it."""
    for part in ("survey", "zones", "types", "offerings"):
        if failure := spot.facts.problems.get(part):
            return _silence(failure), f"{part} of {spot.facts.region}: {failure.message or failure.code}"
    return None


def _impossible(spot: _Spot) -> tuple[Verdict, str] | None:
    """What speaks against a place whatever capacity it has."""
    name, zone = spot.type_name, spot.zone
    if spot.kind is None or not spot.offered:
        where = f"{zone.name} ({zone.zone_id})" if spot.kind else spot.facts.region
        return Verdict.NOT_OFFERED, f"{name} is not offered in {where}"
    if not spot.reservation and "on-demand" not in spot.kind.usage_classes:
        return Verdict.NOT_OFFERED, f"{name} is sold in capacity blocks only: give one with CAPACITY_RESERVATION_ID"
    return _crowded(spot, spot.kind)


def _crowded(spot: _Spot, kind: InstanceType) -> tuple[Verdict, str] | None:
    """A node takes at least one address for each of its network interfaces."""
    free = spot.facts.free_addresses.get(spot.zone.name)
    needed = spot.question.nodes * max(1, kind.efa_interfaces)
    if free is None or free >= needed:
        return None
    subnet = (spot.facts.subnets or {})[spot.zone.name]
    return Verdict.SKIPPED, f"{subnet} in {spot.zone.name} has {free} free addresses, {needed} are needed"


def _reserved(reservation: Reservation) -> Judgement:
    if reservation.is_block:
        return Verdict.AVAILABLE, f"capacity block {reservation.reservation_id}", Source.CAPACITY_BLOCK
    held = f"reservation {reservation.reservation_id} holds {reservation.available}"
    return Verdict.AVAILABLE, held, Source.RESERVATION


def _proved(outcome: ProbeOutcome) -> tuple[Verdict, str]:
    failure = outcome.failure
    if failure is None and outcome.held:
        return Verdict.AVAILABLE, f"{outcome.order.count} held by {outcome.reservation_id} until the nodes have joined"
    if failure is None:
        return Verdict.AVAILABLE, f"{outcome.order.count} reserved and cancelled at {outcome.at:%H:%M:%S} UTC"
    return verdict_of(failure), f"{failure.code}: {failure.message}" if failure.message else failure.code


def _short_quota(spot: _Spot) -> tuple[Verdict, str] | None:
    quota, needed = spot.quota, spot.needed_vcpus
    if quota is None or quota.verdict(needed) != "short":
        return None
    used = "an unknown number" if quota.used is None else quota.used
    command = increase_command(quota, needed, spot.facts.region)
    return Verdict.QUOTA, f"needs {needed} vCPU, quota {quota.code} is {quota.limit:g} with {used} in use: {command}"


def _unproved(spot: _Spot) -> str:
    words = ["not probed"]
    quota = spot.quota
    if quota is None or quota.verdict(spot.needed_vcpus) == "unknown":
        words.append(f"quota unknown ({quota.problem})" if quota and quota.problem else "quota unknown")
    rooms = [one for one in spot.facts.reservations if _has_room(one, spot)]
    words += [f"{one.reservation_id} has room: CAPACITY_RESERVATION_ID={one.reservation_id}" for one in rooms[:1]]
    return ", ".join(words)


def _has_room(reservation: Reservation, spot: _Spot) -> bool:
    same = (reservation.zone_id, reservation.instance_type) == (spot.zone.zone_id, spot.type_name)
    return same and reservation.state == "active" and reservation.available >= spot.question.nodes


def _order(question: Question, one: Candidate) -> tuple[object, ...]:
    types = question.instance_types
    return (
        not one.usable,
        0 if one.usable else _NEARNESS.index(one.verdict),
        types.index(one.instance_type) if one.instance_type in types else len(types),
        one.verdict is not Verdict.AVAILABLE,
        not one.reservation_id,
        one.subnet != "yes",
        -(one.spot_score or 0),
        float("inf") if one.hourly_usd is None else one.hourly_usd,
        question.regions.index(one.region) if one.region in question.regions else len(question.regions),
        one.region,
        one.zone_id,
    )


def _nowhere(candidates: tuple[Candidate, ...]) -> ClusterctlError:
    """No capacity is said only of places that answered; what could not be asked is told apart."""
    table = "\n".join(f"{_name(one)} {one.instance_type}: {one.verdict.value}, {one.reason}" for one in candidates)
    real = [one for one in candidates if one.verdict not in (Verdict.SKIPPED, Verdict.NOT_OFFERED)]
    seen = {one.verdict for one in real}
    if seen == {Verdict.QUOTA}:
        return _quota_error(real, table)
    if seen == {Verdict.DENIED}:
        hint = "grant the permission, or go on without proof: --no-probe" if _probed(real) else "clusterctl doctor"
        return AccessError(f"AWS denies the search everywhere: {real[0].reason}", hint=hint, details=table)
    if Verdict.NO_CAPACITY in seen or not seen:
        hint = "other zones (--azs), regions (-r, -a) or instance types (-t); or wait and run it again"
        return CapacityUnavailableError(
            f"no place can take the nodes: {_counted(candidates)}", hint=hint, details=table
        )
    hint = (
        "run it again in a minute, or go on without proof: --no-probe" if _probed(real) else "run it again in a minute"
    )
    return ClusterctlError(f"capacity is not known of any place: {_counted(candidates)}", hint=hint, details=table)


def _quota_error(short: list[Candidate], table: str) -> QuotaTooSmallError:
    first = short[0]
    needed, _, command = first.reason.partition(": aws ")
    message = f"{first.nodes} x {first.instance_type} in {first.region}: {needed}"
    hint = f"aws {command}" if command else "ask for more: https://console.aws.amazon.com/servicequotas"
    return QuotaTooSmallError(message, hint=hint, details=table)


def _probed(candidates: list[Candidate]) -> bool:
    return any(one.source is Source.PROBE for one in candidates)


def _counted(candidates: tuple[Candidate, ...]) -> str:
    """`2 no-capacity, 1 quota`, with the place and the reason where it is one place only."""
    if len(candidates) == 1:
        one = candidates[0]
        return f"{_name(one)} {one.instance_type}: {one.reason}"
    counts = {verdict: sum(one.verdict is verdict for one in candidates) for verdict in _NEARNESS}
    told = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)
    return told or "nothing was found to look at"


def _name(one: Candidate) -> str:
    return f"{one.zone} ({one.zone_id})" if one.zone else one.region
