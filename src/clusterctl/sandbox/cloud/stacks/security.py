"""Security groups, their rules, and IAM roles, made in moto's stores."""

from __future__ import annotations

import json
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any, ClassVar

from clusterctl.sandbox.cloud.site import tag_list
from clusterctl.sandbox.cloud.stacks.kinds import Order, ResourceKind, StillInUseError

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.site import Site


class SecurityGroup(ResourceKind):
    """Security group of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 8.0

    def create(self, order: Order) -> str:
        wanted = order.properties
        name = wanted.get("GroupName") or f"{order.stack_name}-{order.logical_id}"
        made = order.site.ec2.create_security_group(
            name, wanted["GroupDescription"], vpc_id=wanted["VpcId"], force=True
        )
        return order.tagged(made.id)

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        return {"GroupId": physical_id, "VpcId": site.ec2.get_security_group_from_id(physical_id).vpc_id}

    def delete(self, site: Site, physical_id: str) -> None:
        if site.ec2.get_security_group_from_id(physical_id) is None:
            return
        if group_is_used(site, physical_id):
            text = f"resource {physical_id} has a dependent object"
            raise StillInUseError(f"{text} (Service: Ec2, Status Code: 400, Error Code: DependencyViolation)")
        remove_group(site, physical_id)


def group_is_used(site: Site, group_id: str) -> bool:
    """Whether an interface carries the group, or a rule of another one names it."""
    on_interface = any(group_id in {group.id for group in eni.group_set} for eni in site.ec2.enis.values())
    return on_interface or any(
        group_id in _sources(other)
        for groups in site.ec2.groups.values()
        for other in groups.values()
        if other.id != group_id
    )


def remove_group(site: Site, group_id: str) -> None:
    """Delete a group whose rules may name itself."""
    group = site.ec2.get_security_group_from_id(group_id)
    if group is not None:
        group.ingress_rules.clear()
        group.egress_rules.clear()
        site.ec2.delete_security_group(group_id=group_id)


def _sources(group: Any) -> set[str]:
    rules = [*group.ingress_rules, *group.egress_rules]
    return {str(rule.source_group.get("GroupId")) for rule in rules}


class _Rule(ResourceKind):
    """A rule of a group; its physical id is that of the rule."""

    peer: ClassVar[str]

    def create(self, order: Order) -> str:
        wanted = order.properties
        peer = wanted.get(self.peer)
        rules, _ = self._authorize(order.site)(
            wanted["GroupId"],
            str(wanted["IpProtocol"]),
            str(wanted["FromPort"]) if "FromPort" in wanted else None,
            str(wanted["ToPort"]) if "ToPort" in wanted else None,
            [{"CidrIp": wanted["CidrIp"]}] if "CidrIp" in wanted else [],
            source_groups=[{"GroupId": peer}] if peer else None,
        )
        return str(rules[0].id) if rules else f"{wanted['GroupId']}|{order.logical_id}"

    def _authorize(self, site: Site) -> Any:
        raise NotImplementedError

    def delete(self, site: Site, physical_id: str) -> None:
        for groups in site.ec2.groups.values():
            for group in groups.values():
                group.ingress_rules = [rule for rule in group.ingress_rules if rule.id != physical_id]
                group.egress_rules = [rule for rule in group.egress_rules if rule.id != physical_id]


class IngressRule(_Rule):
    """An ingress rule of a stack."""

    peer: ClassVar[str] = "SourceSecurityGroupId"

    def _authorize(self, site: Site) -> Any:
        return site.ec2.authorize_security_group_ingress


class EgressRule(_Rule):
    """An egress rule of a stack."""

    peer: ClassVar[str] = "DestinationSecurityGroupId"

    def _authorize(self, site: Site) -> Any:
        return site.ec2.authorize_security_group_egress


@dataclass(frozen=True, slots=True)
class AttachedPolicy:
    """A policy of AWS on a role, as ListAttachedRolePolicies shows it."""

    arn: str
    name: str


class Role(ResourceKind):
    """Role of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 18.0
    delete_s: ClassVar[float] = 3.0

    def create(self, order: Order) -> str:
        wanted, iam = order.properties, order.site.iam
        name = wanted.get("RoleName") or _generated_name(order)
        iam.create_role(
            role_name=name,
            assume_role_policy_document=json.dumps(wanted["AssumeRolePolicyDocument"]),
            path=wanted.get("Path", "/"),
            permissions_boundary=wanted.get("PermissionsBoundary"),
            description="",
            tags=tag_list(order.tags),
            max_session_duration="3600",
        )
        for arn in wanted.get("ManagedPolicyArns", []):
            # moto knows none of AWS's own policies unless told to load them all.
            iam.get_role(name).managed_policies[arn] = AttachedPolicy(arn, arn.rsplit("/", 1)[-1])
        return str(name)

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        role = site.iam.get_role(physical_id)
        return {"Arn": role.arn, "RoleId": role.id}

    def delete(self, site: Site, physical_id: str) -> None:
        if physical_id not in {role.name for role in site.iam.get_roles()}:
            return
        site.iam.get_role(physical_id).managed_policies.clear()
        site.iam.delete_role(physical_id)


def _generated_name(order: Order) -> str:
    stem = f"{order.stack_name}-{order.logical_id}"[:51]
    return f"{stem}-{token_hex(6).upper()}"
