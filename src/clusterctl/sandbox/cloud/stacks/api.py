"""CloudFormation's API over the stack store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult, EmptyResult

from clusterctl.sandbox.cloud.answering import OwnResponse, page, refusal
from clusterctl.sandbox.cloud.site import tag_list

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.stacks.model import Event, Resource, Stack
    from clusterctl.sandbox.cloud.stacks.store import StackStore


class StackResponse(OwnResponse):
    """The operations that eksctl and clusterctl use."""

    service = "cloudformation"
    store: StackStore

    def _stack(self) -> Stack:
        return self.store.find(self.region, self._get_param("StackName"))

    def _page(self, rows: list[dict[str, Any]], key: str) -> ActionResult:
        shown, token = page(rows, self._get_param("NextToken"), 100)
        return ActionResult({key: shown, "NextToken": token})

    def create_stack(self) -> ActionResult:
        names = (
            "StackName", "TemplateBody", "Tags", "Capabilities", "ClientRequestToken", "DisableRollback",
            "OnFailure", "EnableTerminationProtection",
        )  # fmt: skip
        stack = self.store.create(self.region, {name: self._get_param(name) for name in names})
        return ActionResult({"StackId": stack.stack_id})

    def describe_stacks(self) -> ActionResult:
        if self._get_param("StackName"):
            return ActionResult({"Stacks": [stack_row(self._stack())]})
        standing = [stack for stack in self.store.all_in(self.region) if stack.deleted_at is None]
        return self._page([stack_row(stack) for stack in standing], "Stacks")

    def list_stacks(self) -> ActionResult:
        wanted = self._get_param("StackStatusFilter")
        rows = [_summary(one) for one in self.store.all_in(self.region) if not wanted or one.status in wanted]
        return self._page(rows, "StackSummaries")

    def describe_stack_events(self) -> ActionResult:
        stack = self._stack()
        return self._page([_event_row(stack, event) for event in reversed(stack.events)], "StackEvents")

    def describe_stack_resources(self) -> ActionResult:
        if not self._get_param("StackName"):
            raise refusal("ValidationError", "Either PhysicalResourceId or StackName must be specified")
        stack, wanted = self._stack(), self._get_param("LogicalResourceId")
        rows = [_resource_row(stack, one) for one in stack.resources.values() if one.status]
        chosen = [row for row in rows if wanted in {None, row["LogicalResourceId"]}]
        return ActionResult({"StackResources": chosen})

    def describe_stack_resource(self) -> ActionResult:
        stack, wanted = self._stack(), self._get_param("LogicalResourceId")
        if wanted not in stack.resources:
            raise refusal("ValidationError", f"Resource {wanted} does not exist for stack {stack.name}")
        row = _resource_row(stack, stack.resources[wanted])
        return ActionResult({"StackResourceDetail": row | {"LastUpdatedTimestamp": row["Timestamp"]}})

    def list_stack_resources(self) -> ActionResult:
        stack = self._stack()
        rows = [_resource_row(stack, one) for one in stack.resources.values() if one.status]
        return self._page([row | {"LastUpdatedTimestamp": row["Timestamp"]} for row in rows], "StackResourceSummaries")

    def get_template(self) -> ActionResult:
        return ActionResult({"TemplateBody": self._stack().template.body, "StagesAvailable": ["Original", "Processed"]})

    def delete_stack(self) -> ActionResult:
        self.store.delete(self.region, self._get_param("StackName"))
        return EmptyResult()

    def update_termination_protection(self) -> ActionResult:
        stack = self._stack()
        stack.protected = bool(self._get_bool_param("EnableTerminationProtection"))
        return ActionResult({"StackId": stack.stack_id})


def stack_row(stack: Stack) -> dict[str, Any]:
    """A stack as DescribeStacks shows it."""
    outputs = [
        {"OutputKey": key, "OutputValue": item["value"]} | ({"ExportName": item["export"]} if item["export"] else {})
        for key, item in stack.outputs.items()
    ]
    return {
        "StackId": stack.stack_id,
        "StackName": stack.name,
        "Description": stack.template.description,
        "CreationTime": stack.created_at,
        "DeletionTime": stack.deleted_at,
        "RollbackConfiguration": {},
        "StackStatus": stack.status,
        "StackStatusReason": stack.reason or None,
        "DisableRollback": stack.disable_rollback,
        "NotificationARNs": [],
        "Capabilities": stack.capabilities,
        "Outputs": outputs,
        "Tags": tag_list(stack.tags),
        "EnableTerminationProtection": stack.protected,
        "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
    }


def _summary(stack: Stack) -> dict[str, Any]:
    keys = ("StackId", "StackName", "CreationTime", "DeletionTime", "StackStatus", "StackStatusReason")
    row = stack_row(stack)
    return {key: row[key] for key in keys} | {
        "TemplateDescription": stack.template.description,
        "DriftInformation": row["DriftInformation"],
    }


def _event_row(stack: Stack, event: Event) -> dict[str, Any]:
    return {
        "StackId": stack.stack_id,
        "EventId": event.event_id,
        "StackName": stack.name,
        "LogicalResourceId": event.logical_id,
        "PhysicalResourceId": event.physical_id,
        "ResourceType": event.type,
        "Timestamp": event.at,
        "ResourceStatus": event.status,
        "ResourceStatusReason": event.reason or None,
    }


def _resource_row(stack: Stack, resource: Resource) -> dict[str, Any]:
    return {
        "StackId": stack.stack_id,
        "StackName": stack.name,
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id or None,
        "ResourceType": resource.type,
        "Timestamp": resource.changed_at,
        "ResourceStatus": resource.status,
        "ResourceStatusReason": resource.reason or None,
        "DriftInformation": {"StackResourceDriftStatus": "NOT_CHECKED"},
    }
