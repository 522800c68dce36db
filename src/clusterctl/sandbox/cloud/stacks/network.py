"""VPCs and what is inside them, made in moto's EC2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from clusterctl.sandbox.cloud.stacks.kinds import Order, ResourceKind, StillInUseError

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.site import Site

_VIOLATION = "(Service: Ec2, Status Code: 400, Error Code: DependencyViolation)"


def _in_use(text: str) -> StillInUseError:
    return StillInUseError(f"{text} {_VIOLATION}")


class Vpc(ResourceKind):
    """Vpc of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 12.0

    def create(self, order: Order) -> str:
        vpc = order.site.ec2.create_vpc(order.properties["CidrBlock"])
        for name in ("enable_dns_support", "enable_dns_hostnames"):
            order.site.ec2.modify_vpc_attribute(vpc.id, name, attr_value=True)
        return order.tagged(vpc.id)

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        return {"CidrBlock": site.ec2.get_vpc(physical_id).cidr_block, "VpcId": physical_id}

    def delete(self, site: Site, physical_id: str) -> None:
        ec2 = site.ec2
        if physical_id not in ec2.vpcs:
            return
        foreign = [group for group in ec2.groups.get(physical_id, {}).values() if group.name != "default"]
        if foreign or ec2.describe_subnets(filters={"vpc-id": physical_id}) or site.load_balancers_in(physical_id):
            raise _in_use(f"The vpc '{physical_id}' has dependencies and cannot be deleted.")
        ec2.delete_vpc(physical_id)


class Subnet(ResourceKind):
    """Subnet of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 6.0

    def create(self, order: Order) -> str:
        wanted = order.properties
        subnet = order.site.ec2.create_subnet(
            vpc_id=wanted["VpcId"], cidr_block=wanted["CidrBlock"], availability_zone=wanted["AvailabilityZone"]
        )
        if wanted.get("MapPublicIpOnLaunch"):
            order.site.ec2.modify_subnet_attribute(subnet.id, "map_public_ip_on_launch", attr_value=True)
        return order.tagged(subnet.id)

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        subnet = site.ec2.get_subnet(physical_id)
        return {"AvailabilityZone": subnet.availability_zone, "VpcId": subnet.vpc_id}

    def delete(self, site: Site, physical_id: str) -> None:
        found = site.ec2.describe_subnets(filters={"subnet-id": physical_id})
        if not found:
            return
        interfaces = [eni for eni in site.ec2.enis.values() if eni.subnet.id == physical_id]
        balanced = [name for name, subnets in site.load_balancers_in(found[0].vpc_id) if physical_id in subnets]
        if interfaces or balanced:
            raise _in_use(f"The subnet '{physical_id}' has dependencies and cannot be deleted.")
        site.ec2.delete_subnet(physical_id)


class InternetGateway(ResourceKind):
    """Internet gateway of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 16.0

    def create(self, order: Order) -> str:
        return order.tagged(order.site.ec2.create_internet_gateway().id)

    def delete(self, site: Site, physical_id: str) -> None:
        if physical_id in site.ec2.internet_gateways:
            site.ec2.delete_internet_gateway(physical_id)


class GatewayAttachment(ResourceKind):
    """Gateway attachment of a stack, kept in the local AWS."""

    def create(self, order: Order) -> str:
        gateway, vpc = order.properties["InternetGatewayId"], order.properties["VpcId"]
        order.site.ec2.attach_internet_gateway(gateway, vpc)
        return f"IGW|{vpc}|{gateway}"

    def delete(self, site: Site, physical_id: str) -> None:
        _, vpc, gateway = physical_id.split("|")
        attached = site.ec2.internet_gateways.get(gateway)
        if attached is None or attached.vpc is None:
            return
        if site.load_balancers_in(vpc) or _public_interfaces(site, vpc):
            text = f"Network {vpc} has some mapped public address(es)."
            raise _in_use(f"{text} Please unmap those public address(es) before detaching the gateway.")
        site.ec2.detach_internet_gateway(gateway, vpc)


def _public_interfaces(site: Site, vpc_id: str) -> list[Any]:
    return [eni for eni in site.ec2.enis.values() if eni.subnet.vpc_id == vpc_id and eni.public_ip]


class ElasticIp(ResourceKind):
    """Elastic ip of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 16.0

    def create(self, order: Order) -> str:
        address = order.site.ec2.allocate_address("vpc")
        order.tagged(address.allocation_id)
        return str(address.public_ip)

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        return {"AllocationId": site.ec2.address_by_ip([physical_id])[0].allocation_id}

    def delete(self, site: Site, physical_id: str) -> None:
        if any(address.public_ip == physical_id for address in site.ec2.addresses):
            site.ec2.release_address(address=physical_id)


class NatGateway(ResourceKind):
    """Nat gateway of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 105.0
    delete_s: ClassVar[float] = 45.0

    def create(self, order: Order) -> str:
        wanted = order.properties
        made = order.site.ec2.create_nat_gateway(wanted["SubnetId"], wanted["AllocationId"])
        return order.tagged(made.id)

    def delete(self, site: Site, physical_id: str) -> None:
        gateway = site.ec2.nat_gateways.get(physical_id)
        if gateway is None or gateway.state == "deleted":
            return
        for address in [one for one in site.ec2.addresses if one.eni is gateway._eni]:  # noqa: SLF001 - no getter
            site.ec2.disassociate_address(association_id=address.association_id)
        site.ec2.enis.pop(gateway._eni.id, None)  # noqa: SLF001
        site.ec2.delete_nat_gateway(physical_id)


class RouteTable(ResourceKind):
    """Route table of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 8.0

    def create(self, order: Order) -> str:
        return order.tagged(order.site.ec2.create_route_table(order.properties["VpcId"]).id)

    def delete(self, site: Site, physical_id: str) -> None:
        if physical_id in site.ec2.route_tables:
            site.ec2.delete_route_table(physical_id)


class Route(ResourceKind):
    """Route of a stack, kept in the local AWS."""

    def create(self, order: Order) -> str:
        wanted = order.properties
        order.site.ec2.create_route(
            wanted["RouteTableId"],
            wanted["DestinationCidrBlock"],
            gateway_id=wanted.get("GatewayId"),
            nat_gateway_id=wanted.get("NatGatewayId"),
        )
        return f"{wanted['RouteTableId']}|{wanted['DestinationCidrBlock']}"

    def delete(self, site: Site, physical_id: str) -> None:
        table, _, destination = physical_id.partition("|")
        if table in site.ec2.route_tables:
            site.ec2.delete_route(table, destination)


class RouteTableAssociation(ResourceKind):
    """Route table association of a stack, kept in the local AWS."""

    def create(self, order: Order) -> str:
        wanted = order.properties
        return str(order.site.ec2.associate_route_table(wanted["RouteTableId"], subnet_id=wanted["SubnetId"]))

    def delete(self, site: Site, physical_id: str) -> None:
        tables = site.ec2.route_tables.values()
        if any(physical_id in table._associations for table in tables):  # noqa: SLF001 - moto has no getter
            site.ec2.disassociate_route_table(physical_id)
