"""Removes one leftover: the call for each kind, and what "gone already" and "still in use" look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from clusterctl.adapters.aws.faults import code_of, details_of
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.errors import BusyError, UsageError
from clusterctl.model.leftovers import Resource, ResourceKind

DeleteStack = Callable[[str, str], None]  # region, stack name
_GONE = ("NotFound", "NoSuchEntity", "InvalidPlacementGroup.Unknown")
_IN_USE = ("DependencyViolation", "InUse", "IncorrectState")

# kind -> service, method, the name of its argument
_SIMPLE: dict[ResourceKind, tuple[str, str, str]] = {
    ResourceKind.LOAD_BALANCER: ("elbv2", "delete_load_balancer", "LoadBalancerArn"),
    ResourceKind.CLASSIC_LOAD_BALANCER: ("elb", "delete_load_balancer", "LoadBalancerName"),
    ResourceKind.TARGET_GROUP: ("elbv2", "delete_target_group", "TargetGroupArn"),
    ResourceKind.NAT_GATEWAY: ("ec2", "delete_nat_gateway", "NatGatewayId"),
    ResourceKind.NETWORK_INTERFACE: ("ec2", "delete_network_interface", "NetworkInterfaceId"),
    ResourceKind.ADDRESS: ("ec2", "release_address", "AllocationId"),
    ResourceKind.VOLUME: ("ec2", "delete_volume", "VolumeId"),
    ResourceKind.SNAPSHOT: ("ec2", "delete_snapshot", "SnapshotId"),
    ResourceKind.LUSTRE: ("fsx", "delete_file_system", "FileSystemId"),
    ResourceKind.PLACEMENT_GROUP: ("ec2", "delete_placement_group", "GroupName"),
    ResourceKind.LAUNCH_TEMPLATE: ("ec2", "delete_launch_template", "LaunchTemplateId"),
    ResourceKind.LOG_GROUP: ("logs", "delete_log_group", "logGroupName"),
    ResourceKind.OIDC_PROVIDER: ("iam", "delete_open_id_connect_provider", "OpenIDConnectProviderArn"),
    ResourceKind.RESERVATION: ("ec2", "cancel_capacity_reservation", "CapacityReservationId"),
}


def remove_resource(session: AwsSession, resource: Resource, delete_stack: DeleteStack) -> None:
    """Begin to remove. Raises UsageError for what is not ours, BusyError for what something else still uses."""
    if not resource.owned:
        raise UsageError(f"{resource} does not carry this cluster's mark", hint=resource.command)
    try:
        _remove(session, resource, delete_stack)
    except ClientError as fault:
        code = code_of(fault)
        if any(word in code for word in _GONE):
            return
        if any(word in code for word in _IN_USE):
            raise BusyError(f"{resource} is still in use", hint=resource.command, details=details_of(fault)) from fault
        raise


def _remove(session: AwsSession, resource: Resource, delete_stack: DeleteStack) -> None:
    kind, region, name = resource.kind, resource.region, resource.resource_id
    if kind is ResourceKind.STACK:
        delete_stack(region, name)
    elif kind is ResourceKind.INSTANCE:
        session.client("ec2", region).terminate_instances(InstanceIds=[name])
    elif kind is ResourceKind.SECURITY_GROUP:
        _remove_security_group(session.client("ec2", region), name)
    elif kind is ResourceKind.FILE_SYSTEM:
        _remove_file_system(session.client("efs", region), name)
    else:
        service, method, argument = _SIMPLE[kind]
        getattr(session.client(service, region), method)(**{argument: name})


def _remove_file_system(efs: Any, name: str) -> None:
    """Mount targets before the file system; it is in use until they have gone."""
    for target in efs.describe_mount_targets(FileSystemId=name)["MountTargets"]:
        efs.delete_mount_target(MountTargetId=target["MountTargetId"])
    efs.delete_file_system(FileSystemId=name)


def _remove_security_group(ec2: Any, group: str) -> None:
    """Rules of other groups that name this one would make its deletion fail, so they go first."""
    for name, revoke in (
        ("ip-permission.group-id", ec2.revoke_security_group_ingress),
        ("egress.ip-permission.group-id", ec2.revoke_security_group_egress),
    ):
        pages = ec2.get_paginator("describe_security_groups").paginate(Filters=[{"Name": name, "Values": [group]}])
        for other in (one for page in pages for one in page["SecurityGroups"]):
            listed = other["IpPermissionsEgress" if name.startswith("egress") else "IpPermissions"]
            rules = [rule for rule in (_naming(group, one) for one in listed) if rule]
            if rules:
                revoke(GroupId=other["GroupId"], IpPermissions=rules)
    ec2.delete_security_group(GroupId=group)


def _naming(group: str, rule: dict[str, Any]) -> dict[str, Any]:
    """The part of a rule that names the group; empty if none does."""
    pairs = [pair for pair in rule.get("UserIdGroupPairs", ()) if pair.get("GroupId") == group]
    ports: dict[str, Any] = {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule}
    return {**ports, "UserIdGroupPairs": [{"GroupId": group} for _ in pairs[:1]]} if pairs else {}
