"""Whether a reservation that the user names can take the nodes, and what to know before it does."""

from __future__ import annotations

from datetime import datetime, timedelta

from clusterctl.errors import CapacityUnavailableError, UsageError
from clusterctl.model.capacity import Question, Reservation

EKS_DRAINS = timedelta(minutes=40)  # before the end of a block (EKS user guide, capacity blocks)
EC2_ENDS = timedelta(minutes=30)  # before the end of a block (EC2 user guide, capacity blocks)
SHORTEST_USE = timedelta(hours=1)  # EKS scales a block's nodes to zero 40 minutes before the end
LINUX = "Linux/UNIX"  # the platform of Amazon Linux, Bottlerocket and Ubuntu alike


def check_reservation(
    reservation: Reservation, question: Question, now: datetime, until: datetime | None = None
) -> tuple[str, ...]:
    """What to tell the user of a reservation that fits. `until` is when the cluster is to expire.

    Raises UsageError if it is of the wrong kind, CapacityUnavailableError if it has no room or not the time.
    """
    if wrong := _wrong_kind(reservation, question):
        raise UsageError(f"{_name(reservation)} {wrong[0]}", hint=wrong[1])
    if short := _no_room(reservation, question, now, until):
        raise CapacityUnavailableError(
            f"{_name(reservation)} {short}",
            hint="choose another reservation, fewer nodes (-n), or leave CAPACITY_RESERVATION_ID out",
        )
    apart = f"{reservation.reservation_id} was made without a placement group: its instances may stand far apart"
    spread = () if reservation.is_block or reservation.placement_group_arn else (apart,)
    return (*spread, *_end_of(reservation))


def _end_of(reservation: Reservation) -> tuple[str, ...]:
    """What happens to the nodes when it ends, and when: those of a block go well before."""
    end = reservation.end
    if end is None:
        return ()
    if not reservation.is_block:
        return (f"{_name(reservation)} ends at {_moment(end)}: its nodes go on, and no longer surely come back",)
    drained, ended = end - EKS_DRAINS, end - EC2_ENDS
    told = f"EKS takes its nodes away from {_moment(drained)}, EC2 ends them from {_moment(ended)}"
    return (f"{_name(reservation)} ends at {_moment(end)}: {told}",)


def _wrong_kind(reservation: Reservation, question: Question) -> tuple[str, str] | None:
    """What of its kind is wrong, and the hint. None if nothing is."""
    kind, zone = reservation.instance_type, reservation.zone
    if kind not in question.instance_types:
        asked = ", ".join(question.instance_types)
        return f"is for {kind}, and {asked} is asked for", f"-t {kind}"
    if question.zones and not {zone, reservation.zone_id} & set(question.zones):
        return f"is in {zone} ({reservation.zone_id}), and {', '.join(question.zones)} is asked for", f"--azs {zone}"
    if reservation.platform != LINUX:
        return f"is for {reservation.platform}, and EKS nodes run {LINUX}", "make one for Linux/UNIX"
    if reservation.tenancy != "default":
        return f"has {reservation.tenancy} tenancy, and node groups launch with default tenancy", "make a default one"
    return None


def _no_room(reservation: Reservation, question: Question, now: datetime, until: datetime | None) -> str:
    """Why it cannot take the nodes now; empty if it can."""
    start, end = reservation.start, reservation.end
    if reservation.state != "active":
        begins = f" and begins at {_moment(start)}" if start and start > now else ""
        return f"is {reservation.state}{begins}"
    if reservation.available < question.nodes:
        return f"has {reservation.available} of {reservation.total} instances free, {question.nodes} are needed"
    if end and end < now + SHORTEST_USE:
        return f"ends at {_moment(end)}, within the hour"
    if end and until and end < until:
        return f"ends at {_moment(end)}, before the cluster expires at {_moment(until)}"
    return ""


def _name(reservation: Reservation) -> str:
    return f"{'capacity block' if reservation.is_block else 'reservation'} {reservation.reservation_id}"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
