"""EC2's part of AWS, and the inventory of what moto keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.ec2.responses import EC2Response
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, EC2_RESOURCE_TO_PREFIX

from clusterctl.sandbox.cloud.ec2 import filters
from clusterctl.sandbox.cloud.ec2.blocks import Blocks
from clusterctl.sandbox.cloud.ec2.groups import Groups
from clusterctl.sandbox.cloud.ec2.instances import Instances, Orders
from clusterctl.sandbox.cloud.ec2.inventory import inventory
from clusterctl.sandbox.cloud.ec2.places import Places
from clusterctl.sandbox.cloud.ec2.reservations import Reservations
from clusterctl.sandbox.cloud.ec2.spot import Spot
from clusterctl.sandbox.cloud.ec2.tags import Tags
from clusterctl.sandbox.cloud.extension import Extension, bound_to

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.world import World

_TAGGABLE = {"capacity-reservation": "cr", "placement-group": "pg"}


class HonestEC2Response(
    Places,
    Reservations,
    Blocks,
    Spot,
    Groups,
    Tags,
    Instances,
    EC2Response,  # type: ignore[misc]
):
    """moto's EC2 with our actions in front."""


def extension(world: World) -> Extension:
    """EC2 for this world."""
    filters.install()
    orders: Orders = {}
    for resource, prefix in _TAGGABLE.items():
        EC2_RESOURCE_TO_PREFIX[resource] = prefix
        EC2_PREFIX_TO_RESOURCE[prefix] = resource
    response = bound_to(world, HonestEC2Response)
    response.orders = orders
    return Extension(
        name="ec2",
        url_paths={"ec2": {"{0}/": response.dispatch}},
        preload=("ec2", "iam", "sts"),
        reset=orders.clear,
        inventory=lambda: inventory(world),
    )
