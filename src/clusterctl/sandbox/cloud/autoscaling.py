"""Auto Scaling's API over the groups behind the node groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult, EmptyResult

from clusterctl.sandbox.cloud.answering import OwnResponse, page, refusal
from clusterctl.sandbox.cloud.eks.scaling import Scaler, ScalingGroup, activity_row

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.clusters import ClusterStore
    from clusterctl.sandbox.cloud.eks.launching import Node

_PROCESSES = (
    "Launch", "Terminate", "AddToLoadBalancer", "AlarmNotification", "AZRebalance", "HealthCheck",
    "InstanceRefresh", "ReplaceUnhealthy", "ScheduledActions",
)  # fmt: skip


class ScalingResponse(OwnResponse):
    """The operations on groups that node groups made."""

    service = "autoscaling"
    clusters: ClusterStore

    def _groups(self) -> list[ScalingGroup]:
        nodegroups = [
            group
            for cluster in self.clusters.everywhere()
            if cluster.region == self.region
            for group in cluster.nodegroups.values()
        ]
        return [one.group for one in nodegroups if one.group is not None and not one.group.closed]

    def _group(self) -> ScalingGroup:
        name = self._get_param("AutoScalingGroupName")
        for group in self._groups():
            if group.name == name:
                return group
        raise refusal("ValidationError", f"AutoScalingGroup name not found - null AutoScalingGroup: {name}")

    def _page(self, rows: list[dict[str, Any]], key: str) -> ActionResult:
        shown, token = page(rows, self._get_param("NextToken"), int(self._get_param("MaxRecords") or 100))
        return ActionResult({key: shown, "NextToken": token})

    def describe_auto_scaling_groups(self) -> ActionResult:
        names = self._get_param("AutoScalingGroupNames")
        filters = self._get_param("Filters") or []
        chosen = [one for one in self._groups() if (not names or one.name in names) and _matches(one, filters)]
        return self._page([_group_row(self, one) for one in chosen], "AutoScalingGroups")

    def describe_scaling_activities(self) -> ActionResult:
        wanted = self._get_param("AutoScalingGroupName")
        groups = [self._group()] if wanted else self._groups()
        ids = self._get_param("ActivityIds")
        rows = [activity_row(group, one) for group in groups for one in group.activities if not ids or one.uid in ids]
        return self._page(rows, "Activities")

    def describe_auto_scaling_instances(self) -> ActionResult:
        wanted = self._get_param("InstanceIds")
        rows = [
            _instance_row(node) | {"AutoScalingGroupName": group.name}
            for group in self._groups()
            for node in group.nodes
            if not wanted or node.instance_id in wanted
        ]
        return self._page(rows, "AutoScalingInstances")

    def set_desired_capacity(self) -> ActionResult:
        group, desired = self._group(), int(self._get_param("DesiredCapacity"))
        _check_size(group, desired)
        group.desired, group.retry_at = desired, 0.0
        Scaler(self.site).reconcile(group)
        return EmptyResult()

    def update_auto_scaling_group(self) -> ActionResult:
        group = self._group()
        for name, key in (("minimum", "MinSize"), ("maximum", "MaxSize"), ("desired", "DesiredCapacity")):
            if self._get_param(key) is not None:
                setattr(group, name, int(self._get_param(key)))
        group.desired = min(max(group.desired, group.minimum), group.maximum)
        Scaler(self.site).reconcile(group)
        return EmptyResult()

    def suspend_processes(self) -> ActionResult:
        self._group().suspended |= set(self._get_param("ScalingProcesses") or _PROCESSES)
        return EmptyResult()

    def resume_processes(self) -> ActionResult:
        self._group().suspended -= set(self._get_param("ScalingProcesses") or _PROCESSES)
        return EmptyResult()


def _check_size(group: ScalingGroup, desired: int) -> None:
    if desired > group.maximum:
        text = f"New SetDesiredCapacity value {desired} is above max value {group.maximum} for the AutoScalingGroup."
        raise refusal("ValidationError", text)
    if desired < group.minimum:
        text = f"New SetDesiredCapacity value {desired} is below min value {group.minimum} for the AutoScalingGroup."
        raise refusal("ValidationError", text)


def _matches(group: ScalingGroup, filters: list[dict[str, Any]]) -> bool:
    for wanted in filters:
        name, values = wanted["Name"], wanted["Values"]
        if name == "tag-key" and not set(values) & set(group.tags):
            return False
        if name == "tag-value" and not set(values) & set(group.tags.values()):
            return False
        if name.startswith("tag:") and group.tags.get(name[4:]) not in values:
            return False
    return True


def _instance_row(node: Node) -> dict[str, Any]:
    return {
        "InstanceId": node.instance_id,
        "InstanceType": node.order.instance_type,
        "AvailabilityZone": node.order.zone,
        "LifecycleState": "InService",
        "HealthStatus": "Healthy",
        "ProtectedFromScaleIn": False,
    }


def _group_row(response: ScalingResponse, group: ScalingGroup) -> dict[str, Any]:
    common = {"ResourceId": group.name, "ResourceType": "auto-scaling-group", "PropagateAtLaunch": True}
    tags = [{"Key": key, "Value": value} | common for key, value in group.tags.items()]
    return {
        "AutoScalingGroupName": group.name,
        "AutoScalingGroupARN": group.arn,
        "MinSize": group.minimum,
        "MaxSize": group.maximum,
        "DesiredCapacity": group.desired,
        "DefaultCooldown": 300,
        "AvailabilityZones": sorted({response.site.zone_of(subnet) for subnet in group.subnets}),
        "HealthCheckType": "EC2",
        "HealthCheckGracePeriod": 15,
        "Instances": [_instance_row(node) for node in group.nodes],
        "CreatedTime": group.created_at,
        "SuspendedProcesses": [
            {"ProcessName": name, "SuspensionReason": "User suspended"} for name in sorted(group.suspended)
        ],
        "VPCZoneIdentifier": ",".join(group.subnets),
        "Tags": tags,
        "TerminationPolicies": ["AZRebalance"],
        "NewInstancesProtectedFromScaleIn": False,
    }
