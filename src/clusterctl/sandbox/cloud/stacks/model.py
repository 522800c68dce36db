"""Stacks, their resources and events, as CloudFormation shows them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.stacks.template import Scope, Template

STACK_TYPE = "AWS::CloudFormation::Stack"
CANCELLED = "Resource creation cancelled"


@dataclass(slots=True)
class Resource:
    """One resource of a stack; `physical_id` is empty until its creation was initiated."""

    logical_id: str
    type: str
    status: str = ""
    reason: str = ""
    physical_id: str = ""
    changed_at: datetime | None = None
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        return bool(self.physical_id) and self.status != "DELETE_COMPLETE"


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a stack's history."""

    event_id: str
    at: datetime
    logical_id: str
    physical_id: str
    type: str
    status: str
    reason: str


@dataclass(slots=True)
class Stack:
    """A stack and everything that happened to it. `attempt` grows when its course changes."""

    name: str
    region: str
    template: Template
    tags: dict[str, str]
    created_at: datetime
    scope: Scope
    stack_id: str
    client_token: str = ""
    protected: bool = False
    disable_rollback: bool = False
    capabilities: list[str] = field(default_factory=list)
    status: str = ""
    reason: str = ""
    attempt: int = 0
    deleted_at: datetime | None = None
    resources: dict[str, Resource] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    removing: set[str] = field(default_factory=set)
    undeletable: set[str] = field(default_factory=set)

    def record(self, at: datetime, status: str, reason: str = "") -> None:
        """The stack itself changes."""
        self.status, self.reason = status, reason
        self._event(at, Resource(self.name, STACK_TYPE, status, reason, self.stack_id))

    def record_resource(self, at: datetime, resource: Resource, status: str, reason: str = "") -> None:
        """A resource changes."""
        resource.status, resource.reason, resource.changed_at = status, reason, at
        self._event(at, resource)

    def _event(self, at: datetime, what: Resource) -> None:
        self.events.append(
            Event(
                event_id=f"{what.logical_id}-{what.status}-{uuid.uuid4()}",
                at=at,
                logical_id=what.logical_id,
                physical_id=what.physical_id,
                type=what.type,
                status=what.status,
                reason=what.reason,
            )
        )


def new_stack_id(name: str, region: str) -> str:
    return f"arn:aws:cloudformation:{region}:{ACCOUNT_ID}:stack/{name}/{uuid.uuid4()}"
