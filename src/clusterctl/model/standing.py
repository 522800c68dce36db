"""What stands in the way of a cluster or a node group, told from EKS and CloudFormation together.

eksctl takes a rolled-back stack for an existing node group and exits 0, so its stacks are judged before it is asked.
"""

from __future__ import annotations

from enum import Enum

from clusterctl.model.cluster import ClusterState, NodegroupState, StackState, StackVerdict


class Standing(Enum):
    """What there is, by what has to be done before it can be used or made."""

    ABSENT = "absent"  # nothing in the way: it can be made
    READY = "ready"
    COMING = "coming"  # being made, by an earlier run or by somebody else
    GOING = "going"  # being removed or rolled back: its end has to be awaited
    BROKEN = "broken"  # has to go before it can be made


def nodegroup_standing(status: str, stack: StackState) -> Standing:
    """Of a managed node group; `status` is EKS's, empty when EKS knows none."""
    if status in ("ACTIVE", "DEGRADED", "UPDATING"):
        return Standing.GOING if _goes(stack) else Standing.READY
    if status == "CREATING":
        return Standing.GOING if _goes(stack) else Standing.COMING
    if status == "DELETING":
        return Standing.GOING
    if status:  # CREATE_FAILED, DELETE_FAILED
        return Standing.GOING if stack.verdict is StackVerdict.BUSY else Standing.BROKEN
    return _of_stack(stack)


def cluster_standing(status: str, stack: StackState) -> Standing:
    """Of a cluster. One that works is not broken by an update of its stack that failed."""
    if status in ("ACTIVE", "UPDATING"):
        unharmed = stack.verdict in (StackVerdict.DONE, StackVerdict.ABSENT) or stack.status.startswith("UPDATE_")
        return Standing.READY if unharmed else _of_stack(stack)
    if status in ("CREATING", "PENDING"):
        return Standing.GOING if _goes(stack) else Standing.COMING
    if status == "DELETING":
        return Standing.GOING
    if status:  # FAILED
        return Standing.GOING if stack.verdict is StackVerdict.BUSY else Standing.BROKEN
    return _of_stack(stack)


def describe(state: ClusterState | NodegroupState) -> str:
    """Both states in AWS's words, and the first failure if there is one."""
    words = f"EKS: {state.status or 'absent'}, stack: {state.stack.status or 'absent'}"
    return f"{words} ({state.stack.failure.message})" if state.stack.failure else words


def _goes(stack: StackState) -> bool:
    return stack.status in ("DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS")


def _of_stack(stack: StackState) -> Standing:
    """What a stack means whose resource EKS does not show, or shows in a state that the stack contradicts."""
    match stack.verdict:
        case StackVerdict.ABSENT:
            return Standing.ABSENT
        case StackVerdict.BUSY:
            return Standing.COMING if stack.status == "CREATE_IN_PROGRESS" else Standing.GOING
        case _:  # also DONE: somebody deleted what it made
            return Standing.BROKEN
