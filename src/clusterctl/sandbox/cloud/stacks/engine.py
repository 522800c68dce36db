"""The course of a stack: resources in dependency order, roll-back, deletion; all in simulated time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from moto.core.exceptions import ServiceException
from werkzeug.exceptions import HTTPException

from clusterctl.sandbox.cloud.stacks.kinds import Order, ResourceFailedError, ResourceKind, StillInUseError
from clusterctl.sandbox.cloud.stacks.model import CANCELLED, Resource, Stack
from clusterctl.sandbox.cloud.stacks.template import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.sandbox.cloud.site import Site

_REFUSALS = (ResourceFailedError, TemplateError, ServiceException, HTTPException)  # the latter two are moto's
POLL_S = 10.0
STUBBORN_S = 420.0  # how long CloudFormation retries the deletion of something that is still in use


@dataclass(frozen=True, slots=True)
class Removal:
    """How the taking apart of a stack is called, and how it ends."""

    done: str
    failed: str


ROLLBACK = Removal(done="ROLLBACK_COMPLETE", failed="ROLLBACK_FAILED")
DELETION = Removal(done="DELETE_COMPLETE", failed="DELETE_FAILED")


class StackEngine:
    """Drives the stacks of one region. Every method runs under the world lock."""

    def __init__(self, site: Site, kinds: Mapping[str, ResourceKind]) -> None:
        self.site = site
        self.kinds = kinds

    def create(self, stack: Stack) -> None:
        """Begin to make a stack."""
        stack.record(self.site.now(), "CREATE_IN_PROGRESS", "User Initiated")
        for declared in stack.template.resources.values():
            stack.resources[declared.logical_id] = Resource(declared.logical_id, declared.type)
        self._later(stack, 2.0, lambda: self._start_what_can(stack))

    def delete(self, stack: Stack) -> None:
        """Begin to remove a stack; one that is being made is cancelled."""
        stack.attempt += 1
        stack.record(self.site.now(), "DELETE_IN_PROGRESS", "User Initiated")
        self._cancel_unfinished(stack)
        self._begin_removal(stack, DELETION)

    def _later(self, stack: Stack, seconds: float, run: Callable[[], object]) -> None:
        attempt = stack.attempt
        self.site.later(seconds, lambda: run() if stack.attempt == attempt else None)

    # creation

    def _start_what_can(self, stack: Stack) -> None:
        done = {name for name, made in stack.resources.items() if made.status == "CREATE_COMPLETE"}
        if len(done) == len(stack.resources):
            self._complete(stack)
            return
        attempt = stack.attempt
        for resource in stack.resources.values():
            waits_for = stack.template.resources[resource.logical_id].needs - done
            if stack.attempt == attempt and not resource.status and not waits_for:
                self._start(stack, resource)

    def _complete(self, stack: Stack) -> None:
        for name, output in stack.template.outputs.items():
            export = stack.scope.resolve(output.get("Export", {}).get("Name", ""))
            stack.outputs[name] = {"value": str(stack.scope.resolve(output["Value"])), "export": str(export)}
        stack.record(self.site.now(), "CREATE_COMPLETE")

    def _start(self, stack: Stack, resource: Resource) -> None:
        now, kind = self.site.now(), self.kinds[resource.type]
        stack.record_resource(now, resource, "CREATE_IN_PROGRESS")
        try:
            declared = stack.template.resources[resource.logical_id]
            resource.properties = stack.scope.resolve(declared.properties)
            own_tags = {
                "aws:cloudformation:stack-name": stack.name,
                "aws:cloudformation:stack-id": stack.stack_id,
                "aws:cloudformation:logical-id": resource.logical_id,
            }
            tags = stack.tags | own_tags
            name, wanted = resource.logical_id, resource.properties
            order = Order(self.site, stack.name, name, wanted, tags, declared.rehearsal)
            resource.physical_id = kind.create(order)
        except _REFUSALS as problem:
            self._fail(stack, resource, str(problem))
            return
        stack.scope.physical_ids[resource.logical_id] = resource.physical_id
        stack.record_resource(now, resource, "CREATE_IN_PROGRESS", "Resource creation Initiated")
        self._later(stack, kind.create_s, lambda: self._settle(stack, resource))

    def _settle(self, stack: Stack, resource: Resource) -> None:
        kind = self.kinds[resource.type]
        try:
            if not kind.is_ready(self.site, resource.physical_id):
                self._later(stack, POLL_S, lambda: self._settle(stack, resource))
                return
        except ResourceFailedError as problem:
            self._fail(stack, resource, str(problem))
            return
        attributes = kind.attributes(self.site, resource.physical_id)
        stack.scope.attributes[resource.logical_id] = attributes
        stack.record_resource(self.site.now(), resource, "CREATE_COMPLETE")
        self._start_what_can(stack)

    def _fail(self, stack: Stack, resource: Resource, reason: str) -> None:
        stack.attempt += 1
        now = self.site.now()
        stack.record_resource(now, resource, "CREATE_FAILED", reason)
        failed = [resource.logical_id, *self._cancel_unfinished(stack)]
        text = f"The following resource(s) failed to create: [{', '.join(failed)}]. "
        if stack.disable_rollback:
            stack.record(now, "CREATE_FAILED", text)
            return
        stack.record(now, "ROLLBACK_IN_PROGRESS", f"{text}Rollback requested by user.")
        self._begin_removal(stack, ROLLBACK)

    def _cancel_unfinished(self, stack: Stack) -> list[str]:
        unfinished = [one for one in stack.resources.values() if one.status == "CREATE_IN_PROGRESS"]
        for resource in unfinished:
            stack.record_resource(self.site.now(), resource, "CREATE_FAILED", CANCELLED)
        return [resource.logical_id for resource in unfinished]

    # removal

    def _begin_removal(self, stack: Stack, removal: Removal) -> None:
        stack.removing.clear()
        stack.undeletable.clear()
        self._later(stack, 3.0, lambda: self._remove_what_can(stack, removal))

    def _remove_what_can(self, stack: Stack, removal: Removal) -> None:
        standing = [one for one in stack.resources.values() if one.exists]
        if not standing:
            self._removed(stack, removal)
            return
        for resource in standing:
            known = resource.logical_id in stack.removing | stack.undeletable
            if not known and not self._dependents(stack, resource):
                self._remove(stack, resource, removal)
        if not stack.removing:
            failed = ", ".join(sorted(stack.undeletable))
            text = f"The following resource(s) failed to delete: [{failed}]. "
            stack.record(self.site.now(), removal.failed, text)

    def _dependents(self, stack: Stack, resource: Resource) -> bool:
        return any(
            resource.logical_id in stack.template.resources[other.logical_id].needs
            for other in stack.resources.values()
            if other.exists
        )

    def _removed(self, stack: Stack, removal: Removal) -> None:
        now = self.site.now()
        stack.record(now, removal.done)
        if removal is DELETION:
            stack.deleted_at = now

    def _remove(self, stack: Stack, resource: Resource, removal: Removal) -> None:
        stack.removing.add(resource.logical_id)
        stack.record_resource(self.site.now(), resource, "DELETE_IN_PROGRESS")
        self._try_removal(stack, resource, removal, STUBBORN_S)

    def _try_removal(self, stack: Stack, resource: Resource, removal: Removal, patience_s: float) -> None:
        kind = self.kinds[resource.type]
        try:
            kind.delete(self.site, resource.physical_id)
        except ResourceFailedError as problem:
            self._removal_failed(stack, resource, removal, str(problem))
        except (StillInUseError, ServiceException, HTTPException) as problem:
            if patience_s <= 0:
                self._removal_failed(stack, resource, removal, str(problem))
                return
            left = patience_s - 30.0
            self._later(stack, 30.0, lambda: self._try_removal(stack, resource, removal, left))
        else:
            self._later(stack, kind.delete_s, lambda: self._await_absence(stack, resource, removal))

    def _await_absence(self, stack: Stack, resource: Resource, removal: Removal) -> None:
        try:
            gone = self.kinds[resource.type].is_gone(self.site, resource.physical_id)
        except ResourceFailedError as problem:
            self._removal_failed(stack, resource, removal, str(problem))
            return
        if not gone:
            self._later(stack, POLL_S, lambda: self._await_absence(stack, resource, removal))
            return
        stack.removing.discard(resource.logical_id)
        stack.record_resource(self.site.now(), resource, "DELETE_COMPLETE")
        self._remove_what_can(stack, removal)

    def _removal_failed(self, stack: Stack, resource: Resource, removal: Removal, reason: str) -> None:
        stack.removing.discard(resource.logical_id)
        stack.undeletable.add(resource.logical_id)
        stack.record_resource(self.site.now(), resource, "DELETE_FAILED", reason)
        self._remove_what_can(stack, removal)
