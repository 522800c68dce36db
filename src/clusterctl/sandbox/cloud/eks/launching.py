"""One node: its capacity from the pool, its instance and interfaces in moto's EC2."""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.cloud import catalog
from clusterctl.sandbox.cloud.capacity import LaunchFailure, LaunchOrder, Market

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.model import Cluster, Nodegroup
    from clusterctl.sandbox.cloud.site import Site

_MARKETS: dict[str, Market] = {"SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}
_ROOT_GIB = 20


@dataclass(slots=True)
class Node:
    """An instance of a node group. `joins`: whether it can reach the cluster at all."""

    instance_id: str
    order: LaunchOrder
    launched_s: float
    joins: bool
    efa_interfaces: int
    interfaces: list[str]
    placement_group: str = ""
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What a node group launches: the launch template's data, and what the node group adds."""

    data: dict[str, Any]
    tags: dict[str, str]
    market: Market

    @classmethod
    def of(cls, site: Site, cluster: Cluster, nodegroup: Nodegroup) -> Blueprint:
        name = cluster.name
        tags = {
            "eks:cluster-name": name,
            "eks:nodegroup-name": nodegroup.name,
            f"kubernetes.io/cluster/{name}": "owned",
            "k8s.io/cluster-autoscaler/enabled": "true",
            f"k8s.io/cluster-autoscaler/{name}": "owned",
            "aws:eks:cluster-name": name,
        }
        market = _MARKETS.get(nodegroup.capacity_type, "on-demand")
        return cls(template_data(site, nodegroup.launch_template), tags, market)

    @property
    def reservation_id(self) -> str | None:
        wanted = self.data.get("CapacityReservationSpecification") or {}
        target = wanted.get("CapacityReservationTarget") or {}
        found: str | None = target.get("CapacityReservationId")
        return found

    @property
    def network_interfaces(self) -> list[dict[str, Any]]:
        return list(self.data.get("NetworkInterfaces") or [])

    @property
    def volume(self) -> dict[str, Any]:
        mappings = self.data.get("BlockDeviceMappings") or [{}]
        wanted: dict[str, Any] = mappings[0].get("Ebs") or {}
        return wanted

    def tags_for(self, resource_type: str) -> dict[str, str]:
        """The template's tags for one resource type, under those of EKS."""
        specs = self.data.get("TagSpecifications") or []
        given = [spec.get("Tags") or [] for spec in specs if spec.get("ResourceType") == resource_type]
        return {tag["Key"]: tag["Value"] for tags in given for tag in tags} | self.tags


def template_data(site: Site, reference: dict[str, str] | None) -> dict[str, Any]:
    """The data of a launch template version; nothing without one."""
    if not reference:
        return {}
    template = site.ec2.get_launch_template(reference["id"])
    data: dict[str, Any] = template.get_version(int(reference["version"])).data
    return data


def launch(site: Site, blueprint: Blueprint, instance_type: str, subnet_id: str, group: str) -> Node | LaunchFailure:
    """Run one instance, or say why EC2 would not."""
    zone = site.zone_of(subnet_id)
    order = LaunchOrder(site.region, zone, instance_type, blueprint.reservation_id, blueprint.market)
    failure = site.world.capacity.launch(order)
    if failure is not None:
        return failure
    instance = _run_instance(site, blueprint, order, subnet_id, group)
    extra = [_attach(site, blueprint, instance, index) for index in range(1, len(blueprint.network_interfaces))]
    efa = _mark_interfaces(blueprint, [instance.nics[0], *extra])
    return Node(
        instance_id=instance.id,
        order=order,
        launched_s=site.world.clock.timestamp(),
        joins=_reaches_cluster(site, subnet_id, instance.public_ip),
        efa_interfaces=efa,
        interfaces=[interface.id for interface in [instance.nics[0], *extra]],
        placement_group=_place(site, blueprint, instance),
    )


def _place(site: Site, blueprint: Blueprint, instance: Any) -> str:
    name = str((blueprint.data.get("Placement") or {}).get("GroupName") or "")
    group = site.world.placement_groups.get(site.region, name)
    if group is not None:
        group.members.add(instance.id)
        instance.placement.group_name = name
    return name


def _run_instance(site: Site, blueprint: Blueprint, order: LaunchOrder, subnet_id: str, group: str) -> Any:
    architectures = catalog.describe(order.instance_type)["ProcessorInfo"]["SupportedArchitectures"]
    many = len(blueprint.network_interfaces) > 1
    subnet = site.ec2.get_subnet(subnet_id)
    reservation = site.ec2.run_instances(
        blueprint.data.get("ImageId") or f"ami-{token_hex(8)}",
        1,
        None,
        [],
        instance_type=order.instance_type,
        is_instance_type_default=False,
        region_name=site.region,
        subnet_id=subnet_id,
        security_group_ids=_groups(blueprint),
        associate_public_ip=bool(subnet.map_public_ip_on_launch) and not many,
        block_device_mappings=[_root_volume(blueprint)],
        tags={
            "instance": blueprint.tags_for("instance") | {"aws:autoscaling:groupName": group},
            "volume": blueprint.tags_for("volume"),
        },
    )
    instance = reservation.instances[0]
    instance.architecture = architectures[0]
    instance.virtualization_type = "hvm"
    instance.launch_time = site.now()
    if order.market != "on-demand":
        instance.lifecycle = order.market
    site.ec2.create_tags([instance.nics[0].id], blueprint.tags_for("network-interface"))
    return instance


def _groups(blueprint: Blueprint) -> list[str]:
    if blueprint.network_interfaces:
        return list(blueprint.network_interfaces[0].get("Groups") or [])
    return list(blueprint.data.get("SecurityGroupIds") or [])


def _root_volume(blueprint: Blueprint) -> dict[str, Any]:
    wanted = blueprint.volume
    ebs = {
        "VolumeSize": int(wanted.get("VolumeSize") or _ROOT_GIB),
        "VolumeType": wanted.get("VolumeType") or "gp3",
        "DeleteOnTermination": True,
    }
    return {"DeviceName": "/dev/xvda", "Ebs": ebs}


def _attach(site: Site, blueprint: Blueprint, instance: Any, index: int) -> Any:
    """A further interface. moto keys interfaces by device, and all cards but the first share device 1."""
    interface = site.ec2.create_network_interface(
        site.ec2.get_subnet(instance.subnet_id),
        None,
        group_ids=list(blueprint.network_interfaces[index].get("Groups") or []) or None,
        tags=blueprint.tags_for("network-interface"),
        delete_on_termination=True,
    )
    instance.attach_eni(interface, index)
    interface.device_index = int(blueprint.network_interfaces[index].get("DeviceIndex", 1))
    return interface


def _mark_interfaces(blueprint: Blueprint, interfaces: list[Any]) -> int:
    """Say which interfaces are EFA; how many are."""
    wanted = [item.get("InterfaceType", "interface") for item in blueprint.network_interfaces]
    for interface, kind in zip(interfaces, wanted, strict=False):
        interface.interface_type = kind
    return sum(kind in {"efa", "efa-only"} for kind in wanted)


def _reaches_cluster(site: Site, subnet_id: str, public_ip: str | None) -> bool:
    """A node needs a NAT gateway, or a public address where the way out is an internet gateway."""
    tables = site.ec2.describe_route_tables(filters={"association.subnet-id": [subnet_id]})
    routes = [route for table in tables for route in table.routes]
    default = next((route for route in routes if route.destination_cidr_block == "0.0.0.0/0"), None)
    if default is None:
        return False
    return default.nat_gateway is not None or default.transit_gateway is not None or bool(public_ip)


def terminate(site: Site, node: Node) -> None:
    """End an instance, its interfaces and volumes, and give its capacity back."""
    instance = site.ec2.get_instance(node.instance_id)
    if instance.state != "terminated":
        site.ec2.terminate_instances([node.instance_id])
    clear_away(site, node)


def clear_away(site: Site, node: Node) -> None:
    """What is left to do once an instance is terminated, whoever did it."""
    for interface in node.interfaces:
        site.ec2.enis.pop(interface, None)
    group = site.world.placement_groups.get(site.region, node.placement_group)
    if group is not None:
        group.members.discard(node.instance_id)
    site.world.capacity.release(node.order)
