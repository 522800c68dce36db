"""One region of the world, with moto's stores of it at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from clusterctl.sandbox.cloud.timeline import Job
    from clusterctl.sandbox.cloud.world import World


@dataclass(frozen=True, slots=True)
class Site:
    """A region as the simulated services see it."""

    world: World
    region: str

    @property
    def ec2(self) -> Any:
        """moto's EC2 store of the region."""
        from moto.ec2.models import ec2_backends

        return ec2_backends[ACCOUNT_ID][self.region]

    @property
    def iam(self) -> Any:
        """moto's IAM store (global)."""
        from moto.iam.models import iam_backends

        return iam_backends[ACCOUNT_ID]["aws"]

    @property
    def logs(self) -> Any:
        """moto's CloudWatch Logs store of the region."""
        from moto.logs.models import logs_backends

        return logs_backends[ACCOUNT_ID][self.region]

    def now(self) -> datetime:
        return self.world.now()

    def later(self, seconds: float, run: Callable[[], object]) -> Job:
        """Run something once simulated seconds have passed."""
        return self.world.timeline.schedule(seconds, run)

    def zone_ids(self) -> dict[str, str]:
        """Zone name -> zone id, as this account sees them."""
        return {zone.name: zone.zone_id for zone in self.world.geography.zones(self.region)}

    def zone_of(self, subnet_id: str) -> str:
        zone: str = self.ec2.get_subnet(subnet_id).availability_zone
        return zone

    def load_balancers_in(self, vpc_id: str) -> list[tuple[str, set[str]]]:
        """Load balancers of a VPC, each with its subnets."""
        from moto.elb.models import elb_backends
        from moto.elbv2.models import elbv2_backends

        newer = elbv2_backends[ACCOUNT_ID][self.region].load_balancers.values()
        classic = elb_backends[ACCOUNT_ID][self.region].load_balancers.values()
        found = [(lb.name, {subnet.id for subnet in lb.subnets}) for lb in newer if lb.vpc_id == vpc_id]
        return found + [(lb.name, set(lb.subnets or [])) for lb in classic if lb.vpc_id == vpc_id]


def tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
