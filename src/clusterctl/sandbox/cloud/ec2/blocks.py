"""Capacity Blocks on offer, as the scenario lists them."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult

from clusterctl.sandbox.cloud.ec2.base import EC2Actions, refusal

if TYPE_CHECKING:
    from clusterctl.sandbox.scenario import Block

_LONGEST_H = 4368
_OFFERS_SHOWN = 6


class Blocks(EC2Actions):
    """DescribeCapacityBlockOfferings. Buying is not rehearsed: it cannot be undone."""

    def describe_capacity_block_offerings(self) -> ActionResult:
        self.error_on_dryrun()
        hours = int(self._get_param("CapacityDurationHours") or 0)
        days, odd = divmod(hours, 24)
        if odd or not 0 < hours <= _LONGEST_H or (days > 14 and days % 7):
            raise refusal("InvalidParameterValue", f"The requested duration of {hours} hours is not supported.")
        offers = [block for block in self.world.scenario.blocks if self._suits(block, hours)]
        rows = [self._offer_row(block, hours) for block in offers[:_OFFERS_SHOWN]]
        return ActionResult({"CapacityBlockOfferings": rows})

    def _suits(self, block: Block, hours: int) -> bool:
        zone = self.world.geography.zone(self.region, block.zone)
        count = int(self._get_param("InstanceCount") or 1)
        lasts_h = (block.ends_in_s - block.starts_in_s) / 3600
        is_here = block.offered and zone is not None
        return (
            is_here
            and self._get_param("InstanceType") == block.instance_type
            and (block.count >= count and lasts_h >= hours)
        )

    def _offer_row(self, block: Block, hours: int) -> dict[str, Any]:
        zone = self.world.geography.zone(self.region, block.zone)
        start = self.world.now() + timedelta(seconds=block.starts_in_s)
        name = block.id or "cb-0" + sha256(block.model_dump_json().encode()).hexdigest()[:16]
        return {
            "CapacityBlockOfferingId": name,
            "InstanceType": block.instance_type,
            "AvailabilityZone": zone.name if zone else block.zone,
            "InstanceCount": block.count,
            "StartDate": start,
            "EndDate": start + timedelta(hours=hours),
            "CapacityBlockDurationHours": hours,
            "CapacityBlockDurationMinutes": hours * 60,
            "UpfrontFee": f"{block.upfront_usd:.2f}",
            "CurrencyCode": "USD",
            "Tenancy": "default",
        }
