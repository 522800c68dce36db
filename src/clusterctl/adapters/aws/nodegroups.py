"""A managed node group as EKS, Auto Scaling, EC2 and CloudFormation show it together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from clusterctl.adapters.aws.faults import code_of
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.adapters.aws.stacks import stack_state
from clusterctl.adapters.aws.subnets import zones_of
from clusterctl.model.cluster import HealthIssue, NodegroupState, ScalingActivity
from clusterctl.model.names import nodegroup_stack

NEWEST_ACTIVITIES = 50
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}


def nodegroup_state(session: AwsSession, region: str, cluster: str, name: str) -> NodegroupState:
    """The state of a node group; the status is empty when EKS knows none of that name."""
    stack = stack_state(session, region, nodegroup_stack(cluster, name))
    try:
        found = session.client("eks", region).describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
    except ClientError as fault:
        if code_of(fault) == "ResourceNotFoundException":
            return NodegroupState(region, cluster, name, stack=stack)
        raise
    template = _launch_template(session, region, found.get("launchTemplate") or {})
    group = _scaling_group(session, region, found)
    scaling, types = found.get("scalingConfig", {}), found.get("instanceTypes") or [template.instance_type]
    return NodegroupState(
        region=region,
        cluster=cluster,
        name=name,
        status=found["status"],
        stack=stack,
        instance_type=types[0],
        zones=zones_of(session, region, found.get("subnets", [])),
        subnets=tuple(found.get("subnets", ())),
        desired=scaling.get("desiredSize", 0),
        minimum=scaling.get("minSize", 0),
        maximum=scaling.get("maxSize", 0),
        capacity_type=found.get("capacityType", ""),
        ami_type=found.get("amiType", ""),
        reservation_id=template.reservation_id,
        labels=found.get("labels", {}),
        taints=_taints(found),
        tags=found.get("tags", {}),
        issues=_issues(found),
        activities=group.activities,
        instances=group.in_service,
        created=found.get("createdAt"),
    )


@dataclass(frozen=True, slots=True)
class _Template:
    instance_type: str = ""
    reservation_id: str = ""


@dataclass(frozen=True, slots=True)
class _Group:
    in_service: int = 0
    activities: tuple[ScalingActivity, ...] = ()


def _launch_template(session: AwsSession, region: str, named: dict[str, str]) -> _Template:
    """What the nodes are launched with: eksctl drops a misspelt reservation without a word, so it is read back."""
    if not named.get("id"):
        return _Template()
    try:
        answer = session.client("ec2", region).describe_launch_template_versions(
            LaunchTemplateId=named["id"], Versions=[str(named.get("version") or "$Default")]
        )
    except ClientError as fault:
        if code_of(fault).startswith("InvalidLaunchTemplateId"):
            return _Template()
        raise
    versions = answer["LaunchTemplateVersions"]
    data = versions[0]["LaunchTemplateData"] if versions else {}
    target = data.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    return _Template(data.get("InstanceType", ""), target.get("CapacityReservationId", ""))


def _scaling_group(session: AwsSession, region: str, nodegroup: dict[str, Any]) -> _Group:
    """The Auto Scaling group behind a node group; it shows a minute or two after the node group does."""
    names = [one["name"] for one in nodegroup.get("resources", {}).get("autoScalingGroups", ())]
    if not names:
        return _Group()
    client = session.client("autoscaling", region)
    groups = client.describe_auto_scaling_groups(AutoScalingGroupNames=names[:1])["AutoScalingGroups"]
    if not groups:
        return _Group()
    instances = [one for one in groups[0]["Instances"] if one["LifecycleState"] == "InService"]
    return _Group(len(instances), _activities(client, names[0]))


def _activities(client: Any, name: str) -> tuple[ScalingActivity, ...]:
    """The newest activities; none of a group that went between two calls, as it does when a node group is deleted."""
    try:
        answer = client.describe_scaling_activities(AutoScalingGroupName=name, MaxRecords=NEWEST_ACTIVITIES)
    except ClientError as fault:
        if code_of(fault) == "ValidationError" and "not found" in str(fault):
            return ()
        raise
    return tuple(_activity(one) for one in answer["Activities"])


def _activity(row: dict[str, Any]) -> ScalingActivity:
    return ScalingActivity(row["StartTime"], row["StatusCode"], row.get("StatusMessage") or row.get("Description", ""))


def _issues(nodegroup: dict[str, Any]) -> tuple[HealthIssue, ...]:
    return tuple(
        HealthIssue(one["code"], one["message"], tuple(one.get("resourceIds", ())))
        for one in nodegroup.get("health", {}).get("issues", ())
    )


def _taints(nodegroup: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Taints in Kubernetes' words; EKS has its own for the effects."""
    return tuple(
        (one["key"], one.get("value", ""), _EFFECTS.get(one["effect"], one["effect"]))
        for one in nodegroup.get("taints", ())
    )
