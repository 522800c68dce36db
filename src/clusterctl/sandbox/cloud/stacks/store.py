"""The stacks of every region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.cloud.answering import refusal
from clusterctl.sandbox.cloud.site import Site
from clusterctl.sandbox.cloud.stacks.engine import StackEngine
from clusterctl.sandbox.cloud.stacks.model import Stack, new_stack_id
from clusterctl.sandbox.cloud.stacks.template import Scope, Template, TemplateError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.sandbox.cloud.stacks.kinds import ResourceKind
    from clusterctl.sandbox.cloud.world import World

_NAMED = ("RoleName", "GroupName", "PolicyName", "UserName", "InstanceProfileName")


class StackStore:
    """Every stack, the deleted ones too (found by id only)."""

    def __init__(self, world: World, kinds: Mapping[str, ResourceKind]) -> None:
        self.world = world
        self.kinds = kinds
        self._stacks: dict[str, list[Stack]] = {}

    def reset(self) -> None:
        self._stacks.clear()

    def regions(self) -> list[str]:
        return sorted(self._stacks)

    def all_in(self, region: str) -> list[Stack]:
        """Newest first."""
        return list(reversed(self._stacks.get(region, [])))

    def find(self, region: str, name_or_id: str) -> Stack:
        """A stack by name (not a deleted one) or by id. Raises ValidationError."""
        for stack in self.all_in(region):
            if stack.stack_id == name_or_id or (stack.name == name_or_id and stack.deleted_at is None):
                return stack
        raise refusal("ValidationError", f"Stack with id {name_or_id} does not exist")

    def create(self, region: str, request: dict[str, Any]) -> Stack:
        """Begin a stack from a CreateStack request."""
        name = str(request["StackName"])
        for other in self.all_in(region):
            if other.name == name and other.deleted_at is None:
                if request.get("ClientRequestToken") and other.client_token == request["ClientRequestToken"]:
                    return other
                raise refusal("AlreadyExistsException", f"Stack [{name}] already exists")
        stack = self._new_stack(region, name, request)
        self._stacks.setdefault(region, []).append(stack)
        self._engine(region).create(stack)
        return stack

    def _new_stack(self, region: str, name: str, request: dict[str, Any]) -> Stack:
        template = self._checked_template(request)
        stack_id = new_stack_id(name, region)
        failure_mode = request.get("OnFailure") or ""
        return Stack(
            name=name,
            region=region,
            template=template,
            tags={tag["Key"]: tag["Value"] for tag in request.get("Tags") or []},
            created_at=self.world.now(),
            scope=Scope(name, stack_id, region, template.mappings),
            stack_id=stack_id,
            client_token=request.get("ClientRequestToken") or "",
            protected=bool(request.get("EnableTerminationProtection")),
            disable_rollback=bool(request.get("DisableRollback")) or failure_mode == "DO_NOTHING",
            capabilities=list(request.get("Capabilities") or []),
        )

    def _checked_template(self, request: dict[str, Any]) -> Template:
        try:
            template = Template.parse(request.get("TemplateBody") or "{}")
        except TemplateError as problem:
            raise refusal("ValidationError", str(problem)) from problem
        declared = template.resources.values()
        unknown = sorted({item.type for item in declared if item.type not in self.kinds})
        if unknown:
            listed = ", ".join(unknown)
            raise refusal("ValidationError", f"Template format error: Unrecognized resource types: [{listed}]")
        identity = [item for item in declared if item.type.startswith("AWS::IAM::")]
        named = any(key in item.properties for item in identity for key in _NAMED)
        wanted = "CAPABILITY_NAMED_IAM" if named else "CAPABILITY_IAM"
        given = {*(request.get("Capabilities") or [])}
        if identity and not given & {wanted, "CAPABILITY_NAMED_IAM"}:
            raise refusal("InsufficientCapabilitiesException", f"Requires capabilities : [{wanted}]")
        return template

    def delete(self, region: str, name_or_id: str) -> None:
        """Begin to delete a stack; an absent one is no error, as in AWS."""
        found = [one for one in self.all_in(region) if name_or_id in {one.stack_id, one.name}]
        standing = [one for one in found if one.deleted_at is None]
        if not standing or standing[0].status == "DELETE_IN_PROGRESS":
            return
        stack = standing[0]
        if stack.protected:
            text = f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled"
            raise refusal("ValidationError", text)
        self._engine(region).delete(stack)

    def _engine(self, region: str) -> StackEngine:
        return StackEngine(Site(self.world, region), self.kinds)
