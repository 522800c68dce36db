"""RunInstances and TerminateInstances under capacity and quota; moto keeps the instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.ec2.responses import EC2Response

from clusterctl.sandbox.cloud.capacity import LaunchOrder, Market
from clusterctl.sandbox.cloud.ec2.base import EC2Actions, refusal, refuse

if TYPE_CHECKING:
    from moto.core.responses import ActionResult

    from clusterctl.sandbox.cloud.placement import PlacementGroup

Orders = dict[str, LaunchOrder]
"""instance id -> what it took, for instances made by RunInstances."""


class Instances(EC2Actions):
    """Launches that can fail as AWS' do. Mixed in before moto's own response class."""

    orders: Orders

    def run_instances(self) -> ActionResult:
        self.error_on_dryrun()
        order, count = self._order(), int(self._get_param("MinCount") or 1)
        group = self._group()
        self._take(order, count)
        try:
            result = EC2Response.run_instances(self)
        except Exception:
            self._give_back(order, count)
            raise
        for instance in result.result.instances:
            self.orders[instance.id] = order
            if group is not None:
                group.members.add(instance.id)
                instance.placement.group_name = group.name
        return result

    def terminate_instances(self) -> ActionResult:
        result = EC2Response.terminate_instances(self)
        for instance_id in self._get_param("InstanceIds", []):
            self._forget(instance_id)
        return result

    def _forget(self, instance_id: str) -> None:
        order = self.orders.pop(instance_id, None)
        if order is not None:
            self.world.capacity.release(order)
        for group in self.world.placement_groups.in_region(self.region):
            group.members.discard(instance_id)

    def _take(self, order: LaunchOrder, count: int) -> None:
        for taken in range(count):
            failure = self.world.capacity.launch(order)
            if failure is not None:
                self._give_back(order, taken)
                refuse(failure)

    def _give_back(self, order: LaunchOrder, count: int) -> None:
        for _ in range(count):
            self.world.capacity.release(order)

    def _order(self) -> LaunchOrder:
        instance_type = self._get_param("InstanceType") or self._template().get("InstanceType") or "m1.small"
        target = "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"
        market: Market = self._get_param("InstanceMarketOptions.MarketType") or "on-demand"
        return LaunchOrder(self.region, self._zone_name(instance_type), instance_type, self._get_param(target), market)

    def _template(self) -> dict[str, Any]:
        given = self._get_param("LaunchTemplate", {})
        if not given:
            return {}
        store = self.ec2_backend
        name, template_id = given.get("LaunchTemplateName"), given.get("LaunchTemplateId")
        template = store.get_launch_template_by_name(name) if name else store.get_launch_template(template_id)
        data: dict[str, Any] = template.get_version(given.get("Version", "$Default")).data
        return data

    def _zone_name(self, instance_type: str) -> str:
        if zone := self._get_param("Placement.AvailabilityZone"):
            return str(zone)
        interfaces = self._get_param("NetworkInterfaces", [])
        subnet = self._get_param("SubnetId") or next((i.get("SubnetId") for i in interfaces), None)
        if subnet:
            return str(self.ec2_backend.get_subnet(subnet).availability_zone)
        zones = self.world.geography.zones(self.region)
        offering = self.world.geography.offering(self.region, instance_type) or zones
        return offering[0].name

    def _group(self) -> PlacementGroup | None:
        name = self._get_param("Placement.GroupName")
        if not name:
            return None
        group = self.world.placement_groups.get(self.region, name)
        if group is None:
            raise refusal("InvalidPlacementGroup.Unknown", f"The placement group {name} is unknown.")
        return group
