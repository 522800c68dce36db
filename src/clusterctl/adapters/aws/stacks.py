"""CloudFormation: the state of a stack, and the first thing in it that went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from clusterctl.adapters.aws.faults import code_of, translated
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.model.cluster import StackState
from clusterctl.model.failures import Failure, classify, root_cause

_BEGINNINGS = ("CREATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "UPDATE_IN_PROGRESS")


def stack_state(session: AwsSession, region: str, name: str) -> StackState:
    """A stack that never was, or is deleted, has an empty status."""
    client = session.client("cloudformation", region)
    with translated(f"describe stack {name} in {region}"):
        stack = _describe(client, name)
        if stack is None:
            return StackState(name)
        status = str(stack["StackStatus"])
        wrong = "FAILED" in status or "ROLLBACK" in status
        return StackState(
            name=name,
            status=status,
            tags={tag["Key"]: tag["Value"] for tag in stack.get("Tags", ())},
            created=stack.get("CreationTime"),
            failure=_first_failure(client, stack["StackId"]) if wrong else None,
            deleted=stack.get("DeletionTime"),
        )


def says_absent(fault: ClientError) -> bool:
    """CloudFormation has no code of its own for a stack that is not there."""
    return code_of(fault) == "ValidationError" and "does not exist" in str(fault)


def _describe(client: Any, name: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = client.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as fault:
        if says_absent(fault):
            return None
        raise
    return found


def _first_failure(client: Any, stack_id: str) -> Failure | None:
    """The root cause of the newest operation: later failures are mostly siblings that were cancelled."""
    failed = [
        event for event in _newest_operation(client, stack_id) if str(event["ResourceStatus"]).endswith("_FAILED")
    ]
    return root_cause([classify("", str(event.get("ResourceStatusReason", ""))) for event in reversed(failed)])


def _newest_operation(client: Any, stack_id: str) -> Iterator[dict[str, Any]]:
    """Events, newest first, back to the begin of the operation that they belong to."""
    for page in client.get_paginator("describe_stack_events").paginate(StackName=stack_id):
        for event in page["StackEvents"]:
            yield event
            if event.get("PhysicalResourceId") == stack_id and event["ResourceStatus"] in _BEGINNINGS:
                return
