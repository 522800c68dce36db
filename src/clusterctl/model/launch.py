"""When to give a node group up, long before eksctl would, and what its failure really was."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from clusterctl.errors import (
    AccessError,
    CapacityUnavailableError,
    ClusterctlError,
    QuotaTooSmallError,
    StageIncompleteError,
)
from clusterctl.model.cluster import NodegroupState, ScalingActivity
from clusterctl.model.failures import Cause, Failure, Remedy, classify, root_cause


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to look and when to stop hoping, in seconds. A short lack of capacity can heal."""

    every_s: float = 15
    failed_activities: int = 3
    after_first_failure_s: float = 90
    limit_s: float = 45 * 60
    leftover_s: float = 10 * 60  # load balancers and NAT gateways take minutes to let go of what they use
    removal_s: float = 30 * 60


_NOT_OUR_VERDICT = {Cause.JOIN, Cause.CANCELLED, Cause.UNKNOWN, Cause.TRANSIENT, Cause.THROTTLED}


def give_up(state: NodegroupState, since: datetime, now: datetime, patience: Patience) -> Failure | None:
    """The failure for which to stop waiting; None while there is hope, or once all instances came after all."""
    if state.ready or 0 < state.desired <= state.instances:
        return None
    failed = [activity for activity in _since(state, since) if activity.status == "Failed"]
    causes = [_activity_cause(activity) for activity in failed]
    for cause in causes:
        if cause.remedy is Remedy.STOP and cause.cause not in _NOT_OUR_VERDICT:
            return cause
    hopeless = [
        (activity, cause) for activity, cause in zip(failed, causes, strict=True) if cause.remedy is Remedy.NEXT_ZONE
    ]
    if not hopeless:
        return None
    if never := next((cause for _, cause in hopeless if cause.cause is Cause.NOT_OFFERED), None):
        return never
    first, reason = hopeless[0]
    waited = (now - first.at).total_seconds()
    enough = len(hopeless) >= patience.failed_activities or waited >= patience.after_first_failure_s
    return reason if enough else None


def final_cause(state: NodegroupState, since: datetime) -> Failure:
    """Why a node group failed: launch failures beat the joins that they prevented, the earliest beats the last."""
    causes = [_activity_cause(activity) for activity in _since(state, since) if activity.status == "Failed"]
    causes += [classify(_launch_code(issue.code), f"{issue.code}: {issue.message}") for issue in state.issues]
    if state.stack.failure:
        causes.append(state.stack.failure)
    lasting = [cause for cause in causes if cause.remedy is not Remedy.RETRY]
    found = root_cause(lasting or causes)
    return found or classify(
        "Unknown", f"node group is {state.status or 'absent'}, stack is {state.stack.status or 'absent'}"
    )


_ERRORS: dict[Cause, type[ClusterctlError]] = {
    Cause.CAPACITY: CapacityUnavailableError,
    Cause.NOT_OFFERED: CapacityUnavailableError,
    Cause.ADDRESSES: CapacityUnavailableError,
    Cause.RESERVATION: CapacityUnavailableError,
    Cause.QUOTA: QuotaTooSmallError,
    Cause.DENIED: AccessError,
    Cause.CREDENTIALS: AccessError,
    Cause.ACCOUNT: AccessError,
}


def launch_error(failure: Failure, message: str, *, hint: str = "", details: str = "") -> ClusterctlError:
    """The error for a launch that failed for good: its class, and so the exit code, follows the cause."""
    return _ERRORS.get(failure.cause, StageIncompleteError)(message, hint=hint, details=details)


def _launch_code(code: str) -> str:
    return "" if code == "AsgInstanceLaunchFailures" else code


def _activity_cause(activity: ScalingActivity) -> Failure:
    code = activity.message.split(" - ", 1)[0].rsplit(" ", 1)[-1] if " - " in activity.message else ""
    return classify(code, activity.message)


def _since(state: NodegroupState, since: datetime) -> list[ScalingActivity]:
    return sorted((one for one in state.activities if one.at >= since), key=lambda one: one.at)
