"""Stacks as eksctl makes, awaits and deletes them."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl import VERSION
from clusterctl.sandbox.eksctl.aws import AwsError
from clusterctl.sandbox.eksctl.failure import EksctlError

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.aws import Aws
    from clusterctl.sandbox.eksctl.output import Console

_CREATE_ENDS = frozenset({"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_COMPLETE", "DELETE_FAILED"})
_GONE = frozenset({"", "DELETE_COMPLETE"})


def cluster_stack(cluster: str) -> str:
    return f"eksctl-{cluster}-cluster"


def nodegroup_stack(cluster: str, nodegroup: str) -> str:
    return f"eksctl-{cluster}-nodegroup-{nodegroup}"


def stack_tags(cluster: str, user_tags: dict[str, str], *, oidc: bool = False) -> dict[str, str]:
    """The tags that eksctl puts on every stack of a cluster."""
    return user_tags | {
        "alpha.eksctl.io/cluster-name": cluster,
        "eksctl.cluster.k8s.io/v1alpha1/cluster-name": cluster,
        "alpha.eksctl.io/eksctl-version": VERSION,
        "alpha.eksctl.io/cluster-oidc-enabled": str(oidc).lower(),
    }


@dataclass(frozen=True, slots=True)
class Stacks:
    """CloudFormation, with eksctl's habits. `timeout_s` (simulated) bounds each single wait."""

    aws: Aws
    console: Console
    timeout_s: float

    def describe(self, name: str) -> dict[str, Any] | None:
        """A stack, or None when there is none of that name."""
        try:
            answer = self.aws.query("cloudformation", "DescribeStacks", StackName=name)
        except AwsError as problem:
            if problem.code == "ValidationError":
                return None
            raise
        stack: dict[str, Any] = answer["Stacks"][0]
        return stack

    def status(self, name: str) -> str:
        return str((self.describe(name) or {}).get("StackStatus", ""))

    def outputs(self, name: str) -> dict[str, str]:
        stack = self.describe(name) or {}
        return {item["OutputKey"]: item["OutputValue"] for item in stack.get("Outputs") or []}

    def names(self, prefix: str) -> dict[str, str]:
        """The standing stacks whose name starts so, with their status."""
        found: dict[str, str] = {}
        token: str | None = None
        while True:
            answer = self.aws.query("cloudformation", "ListStacks", NextToken=token)
            for row in answer.get("StackSummaries") or []:
                if row["StackName"].startswith(prefix) and row["StackStatus"] != "DELETE_COMPLETE":
                    found.setdefault(row["StackName"], row["StackStatus"])
            token = answer.get("NextToken") or None
            if token is None:
                return found

    def create(self, name: str, template: dict[str, Any], tags: dict[str, str]) -> str:
        """Begin a stack; its id. Termination protection is on, as on every stack of eksctl."""
        self.console.info(f'deploying stack "{name}"')
        try:
            answer = self.aws.query(
                "cloudformation",
                "CreateStack",
                StackName=name,
                TemplateBody=json.dumps(template),
                Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
                Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
                EnableTerminationProtection=True,
                ClientRequestToken=str(uuid.uuid4()),
            )
        except AwsError as problem:
            raise EksctlError(f'creating CloudFormation stack "{name}": {problem}') from problem
        return str(answer["StackId"])

    def await_cluster(self, name: str, stack_id: str) -> None:
        """Wait for the cluster stack; at the first sign of a roll-back its events are printed."""

        def settled() -> bool:
            self.console.info(f'waiting for CloudFormation stack "{name}"')
            return self.status(stack_id) != "CREATE_IN_PROGRESS"

        if not self.console.wait_until(settled, self.timeout_s):
            raise EksctlError("exceeded max wait time for StackCreateComplete waiter")
        status = self.status(stack_id)
        if status != "CREATE_COMPLETE":
            self.console.failed(f'unexpected status "{status}" while waiting for CloudFormation stack "{name}"')
            self._print_failures(name, stack_id)
            raise EksctlError("ResourceNotReady: failed waiting for successful resource state")

    def await_nodegroup(self, name: str, stack_id: str) -> None:
        """Wait for a node group's stack, to the end of a roll-back; no events are printed."""

        def settled() -> bool:
            self.console.info(f'waiting for CloudFormation stack "{name}"')
            return self.status(stack_id) in _CREATE_ENDS | {"CREATE_COMPLETE"}

        if not self.console.wait_until(settled, self.timeout_s):
            raise EksctlError("exceeded max wait time for StackCreateComplete waiter")
        if self.status(stack_id) != "CREATE_COMPLETE":
            raise EksctlError("waiter state transitioned to Failure")

    def _print_failures(self, name: str, stack_id: str) -> None:
        self.console.info("fetching stack events in attempt to troubleshoot the root cause of the failure")
        answer = self.aws.query("cloudformation", "DescribeStackEvents", StackName=stack_id)
        for event in answer.get("StackEvents") or []:
            if not event["ResourceStatus"].endswith("FAILED"):
                continue
            reason = json.dumps(event.get("ResourceStatusReason") or "", ensure_ascii=False)
            what = f"{event['ResourceType']}/{event['LogicalResourceId']}"
            self.console.failed(f"{what}: {event['ResourceStatus']} – {reason}")

    def delete(self, name: str) -> str:
        """Take the protection off and begin the deletion; the stack's id."""
        stack = self.describe(name)
        if stack is None:
            raise EksctlError(f'stack "{name}" not found')
        if stack.get("EnableTerminationProtection") == "true":
            self.aws.query(
                "cloudformation", "UpdateTerminationProtection", StackName=name, EnableTerminationProtection=False
            )
        self.aws.query("cloudformation", "DeleteStack", StackName=name)
        self.console.info(f'will delete stack "{name}"')
        return str(stack["StackId"])

    def await_deletion(self, name: str, stack_id: str) -> None:
        """Wait until a stack is gone. Raises EksctlError when it is stuck."""
        self.console.info(f'waiting for stack "{name}" to get deleted')

        def settled() -> bool:
            self.console.info(f'waiting for CloudFormation stack "{name}"')
            return self.status(stack_id) in _GONE | {"DELETE_FAILED"}

        if not self.console.wait_until(settled, self.timeout_s):
            raise EksctlError("exceeded max wait time for StackDeleteComplete waiter")
        if self.status(stack_id) == "DELETE_FAILED":
            raise EksctlError("waiter state transitioned to Failure")
