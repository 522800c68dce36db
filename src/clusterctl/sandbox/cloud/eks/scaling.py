"""The Auto Scaling group behind a node group: it launches, fails, backs off and tries again."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.cloud.capacity import LaunchFailure
from clusterctl.sandbox.cloud.eks.launching import Blueprint, Node, clear_away, launch, terminate
from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from datetime import datetime

    from clusterctl.sandbox.cloud.site import Site

TICK_S = 30.0
JOIN_S = 90.0
_BACK_OFF_S = (60.0, 120.0, 240.0, 480.0, 600.0)
_FAILED = "Launching EC2 instance failed."


@dataclass(slots=True)
class Activity:
    """A scaling activity, as DescribeScalingActivities shows it."""

    description: str
    cause: str
    start: datetime
    status: str
    message: str = ""
    end: datetime | None = None
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(slots=True)
class ScalingGroup:
    """An Auto Scaling group. `ceiling` is a rehearsed shortage: launches beyond it fail."""

    name: str
    region: str
    blueprint: Blueprint
    instance_types: list[str]
    subnets: list[str]
    minimum: int
    maximum: int
    desired: int
    created_at: datetime
    tags: dict[str, str]
    ceiling: int | None = None
    nodes: list[Node] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)
    suspended: set[str] = field(default_factory=set)
    failures: int = 0
    retry_at: float = 0.0
    closed: bool = False

    @property
    def arn(self) -> str:
        stem = f"arn:aws:autoscaling:{self.region}:{ACCOUNT_ID}:autoScalingGroup"
        return f"{stem}:{uuid.uuid5(uuid.NAMESPACE_DNS, self.name)}:autoScalingGroupName/{self.name}"

    @property
    def joined(self) -> int:
        return sum(node.joined for node in self.nodes)

    def latest_failure(self) -> Activity | None:
        """The last activity when it failed."""
        return self.activities[0] if self.activities and self.activities[0].status == "Failed" else None


class Scaler:
    """Keeps the groups of one region at their desired size."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def tend(self, group: ScalingGroup) -> None:
        """Look after a group now and from then on, until it is closed."""
        if group.closed:
            return
        self.reconcile(group)
        self.site.later(TICK_S, lambda: self.tend(group))

    def reconcile(self, group: ScalingGroup) -> None:
        """One look: replace what is gone, launch what is missing, end what is too much."""
        self._forget_terminated(group)
        if self.site.world.clock.timestamp() >= group.retry_at:
            while len(group.nodes) < group.desired and "Launch" not in group.suspended and self._launch(group):
                pass
        while len(group.nodes) > group.desired and "Terminate" not in group.suspended:
            self._terminate(group)

    def close(self, group: ScalingGroup) -> None:
        """End every instance, and the group."""
        group.closed, group.desired = True, 0
        while group.nodes:
            self._terminate(group)

    def _forget_terminated(self, group: ScalingGroup) -> None:
        for node in list(group.nodes):
            if self.site.ec2.get_instance(node.instance_id).state == "terminated":
                clear_away(self.site, node)
                group.nodes.remove(node)
                self.site.world.timeline.changed()

    def _launch(self, group: ScalingGroup) -> bool:
        outcome = self._attempt(group)
        now = self.site.now()
        cause = (
            f"At {now:%Y-%m-%dT%H:%M:%SZ} an instance was started in response to a difference between desired and"
            f" actual capacity, increasing the capacity from {len(group.nodes)} to {len(group.nodes) + 1}."
        )
        if isinstance(outcome, LaunchFailure):
            message = failure_text(outcome, group.blueprint.market)
            description = f"Launching a new EC2 instance.  Status Reason: {message}"
            group.activities.insert(0, Activity(description, cause, now, "Failed", message, now))
            delay = _BACK_OFF_S[min(group.failures, len(_BACK_OFF_S) - 1)]
            group.failures += 1
            group.retry_at = self.site.world.clock.timestamp() + delay
            return False
        group.failures = 0
        group.nodes.append(outcome)
        description = f"Launching a new EC2 instance: {outcome.instance_id}"
        group.activities.insert(0, Activity(description, cause, now, "Successful", "", now))
        self.site.world.timeline.changed()
        if outcome.joins:
            self.site.later(JOIN_S, lambda: setattr(outcome, "joined", True))
        return True

    def _attempt(self, group: ScalingGroup) -> Node | LaunchFailure:
        turn = len(group.nodes) + group.failures
        kind = group.instance_types[group.failures % len(group.instance_types)]
        subnet = group.subnets[turn % len(group.subnets)]
        if group.ceiling is not None and len(group.nodes) >= group.ceiling:
            text = (
                f"We currently do not have sufficient {kind} capacity in the Availability Zone you requested"
                f" ({self.site.zone_of(subnet)}). Our system will be working on provisioning additional capacity."
            )
            return LaunchFailure("InsufficientInstanceCapacity", text)
        return launch(self.site, group.blueprint, kind, subnet, group.name)

    def _terminate(self, group: ScalingGroup) -> None:
        node, now = group.nodes.pop(), self.site.now()
        terminate(self.site, node)
        description = f"Terminating EC2 instance: {node.instance_id}"
        cause = (
            f"At {now:%Y-%m-%dT%H:%M:%SZ} an instance was taken out of service in response to a difference"
            " between desired and actual capacity."
        )
        group.activities.insert(0, Activity(description, cause, now, "Successful", "", now))
        self.site.world.timeline.changed()


def failure_text(failure: LaunchFailure, market: str) -> str:
    """A refusal of EC2 in the words of Auto Scaling."""
    if failure.code == "MaxSpotInstanceCountExceeded":
        return f"{failure.message.rstrip('.')}. {_FAILED}"
    code = "InvalidFleetConfiguration" if failure.code == "Unsupported" else failure.code
    option = "Spot" if market == "spot" else "On-Demand"
    return f"Could not launch {option} Instances. {code} - {failure.message.rstrip('.')}. {_FAILED}"


def activity_row(group: ScalingGroup, activity: Activity) -> dict[str, Any]:
    """An activity in the shape of the API."""
    return {
        "ActivityId": activity.uid,
        "AutoScalingGroupName": group.name,
        "AutoScalingGroupARN": group.arn,
        "Description": activity.description,
        "Cause": activity.cause,
        "StartTime": activity.start,
        "EndTime": activity.end,
        "StatusCode": activity.status,
        "StatusMessage": activity.message or None,
        "Progress": 100,
        "Details": "{}",
    }
