"""Ends reservations, and sees them ended: an answer of "yes" is not yet proof."""

from __future__ import annotations

from clusterctl.adapters.aws.faults import AWS_FAULTS, code_of, translated
from clusterctl.adapters.aws.reservations import is_ours, look_up
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.engine.effects import CANCEL
from clusterctl.errors import LeftoversError, UsageError
from clusterctl.ports import Clock, Journal

TRIES = 10
LONGEST_PAUSE_S = 30.0
OVER = ("cancelled", "expired", "failed")


class Canceller:
    """Cancels reservations that clusterctl made, and nothing else. Its clock is not to be interrupted."""

    def __init__(self, aws: AwsSession, steady: Clock, journal: Journal) -> None:
        self._aws = aws
        self._steady = steady
        self._journal = journal

    def cancel_ours(self, region: str, reservation_id: str) -> None:
        """Raises UsageError for a reservation without our tags or a block, LeftoversError if it cannot be ended."""
        with translated(f"look at {reservation_id} in {region}"):
            found = look_up(self._aws.client("ec2", region), region, reservation_id)
        if found is None or found.state in OVER:
            return
        if not is_ours(found):
            what = "a capacity block" if found.is_block else "without the tags of clusterctl"
            raise UsageError(f"{reservation_id} in {region} is {what}: it is not ours to cancel")
        self.cancel_own(region, reservation_id)

    def cancel_own(self, region: str, reservation_id: str) -> None:
        """End a reservation that this run itself made; returns once EC2 shows it over, else raises LeftoversError."""
        facts = {"region": region, "reservation_id": reservation_id}
        with self._journal.effect(CANCEL, facts):
            for number in range(TRIES):
                if self._cancel(region, reservation_id) and self._over(region, reservation_id):
                    return
                self._steady.sleep(min(2.0**number, LONGEST_PAUSE_S))
            raise LeftoversError(
                f"reservation {reservation_id} in {region} could not be cancelled and may still cost money",
                hint=cancel_command(region, reservation_id),
            )

    def _cancel(self, region: str, reservation_id: str) -> bool:
        """False if it is worth looking no further yet. "Not found" may be EC2 not knowing it yet."""
        try:
            self._aws.client("ec2", region).cancel_capacity_reservation(CapacityReservationId=reservation_id)
        except AWS_FAULTS as fault:
            return not code_of(fault).startswith("InvalidCapacityReservationId.NotFound")
        return True

    def _over(self, region: str, reservation_id: str) -> bool:
        try:
            found = look_up(self._aws.client("ec2", region), region, reservation_id)
        except AWS_FAULTS:
            return False
        return found is not None and found.state in OVER


def cancel_command(region: str, reservation_id: str) -> str:
    """The AWS CLI command that ends a reservation."""
    return f"aws ec2 cancel-capacity-reservation --region {region} --capacity-reservation-id {reservation_id}"
