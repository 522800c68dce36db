"""Reads capacity reservations and capacity blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterctl.adapters.aws.fanout import side_by_side
from clusterctl.adapters.aws.faults import AWS_FAULTS, code_of, translate, translated
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.errors import ClusterctlError
from clusterctl.model.capacity import Reservation
from clusterctl.model.cluster import TAG_CLUSTER, TAG_RUN

ALIVE = ("active", "pending", "scheduled", "assessing", "delayed", "cancelling", "payment-pending")
SWEEP_LIMIT_S = 60.0


class Ec2Reservations:
    """The ReservationReader port."""

    def __init__(self, aws: AwsSession) -> None:
        self._aws = aws

    def find(self, region: str, reservation_id: str) -> Reservation | None:
        """The reservation, in whatever state; None if the region does not know it."""
        try:
            return look_up(self._aws.client("ec2", region), region, reservation_id)
        except AWS_FAULTS as fault:
            raise translate(fault, f"look for {reservation_id} in {region}") from fault

    def ours(self, regions: Sequence[str]) -> tuple[Reservation, ...]:
        """Reservations with clusterctl's marks that still cost money. Raises for a region that does not answer."""
        found = side_by_side(regions, self._ours, limit_s=SWEEP_LIMIT_S)
        if silent := [region for region in regions if region not in found]:
            raise ClusterctlError(
                f"no answer within {SWEEP_LIMIT_S:.0f} s about reservations in {', '.join(silent)}",
                hint="run it again, or name fewer regions with -r",
            )
        return tuple(one for region in regions for one in found[region])

    def _ours(self, region: str) -> tuple[Reservation, ...]:
        with translated(f"list capacity reservations in {region}"):
            listed = list_alive(self._aws.client("ec2", region), region)
        return tuple(one for one in listed if is_ours(one))


def is_ours(reservation: Reservation) -> bool:
    """True if its tags say that clusterctl made it. A capacity block is bought, never made by us."""
    return not reservation.is_block and TAG_RUN in reservation.tags and TAG_CLUSTER in reservation.tags


def list_alive(ec2: Any, region: str) -> tuple[Reservation, ...]:
    """Every reservation and block of a region that is not over. Tags are compared here: no documented filter does."""
    pages = ec2.get_paginator("describe_capacity_reservations").paginate(
        Filters=[{"Name": "state", "Values": list(ALIVE)}]
    )
    return tuple(read_reservation(region, one) for page in pages for one in page["CapacityReservations"])


def look_up(ec2: Any, region: str, reservation_id: str) -> Reservation | None:
    """One reservation by id. Right after its making, EC2 may not know it yet."""
    try:
        answer = ec2.describe_capacity_reservations(CapacityReservationIds=[reservation_id])
    except AWS_FAULTS as fault:
        if code_of(fault).startswith("InvalidCapacityReservationId"):
            return None
        raise
    found = answer["CapacityReservations"]
    return read_reservation(region, found[0]) if found else None


def read_reservation(region: str, data: Mapping[str, Any]) -> Reservation:
    """One entry of DescribeCapacityReservations, or the answer to CreateCapacityReservation."""
    return Reservation(
        reservation_id=data["CapacityReservationId"],
        region=region,
        zone=data.get("AvailabilityZone", ""),
        zone_id=data.get("AvailabilityZoneId", ""),
        instance_type=data["InstanceType"],
        total=int(data.get("TotalInstanceCount", 0)),
        available=int(data.get("AvailableInstanceCount", 0)),
        state=data["State"],
        is_block=data.get("ReservationType") == "capacity-block",
        match_criteria=data.get("InstanceMatchCriteria", "open"),
        platform=data.get("InstancePlatform", "Linux/UNIX"),
        tenancy=data.get("Tenancy", "default"),
        start=data.get("StartDate"),
        end=data.get("EndDate"),
        placement_group_arn=data.get("PlacementGroupArn", ""),
        owner_id=data.get("OwnerId", ""),
        tags={tag["Key"]: tag["Value"] for tag in data.get("Tags") or ()},
    )
