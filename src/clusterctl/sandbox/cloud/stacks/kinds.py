"""What a type of resource has to offer so that a stack can make and remove it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.site import Site


class ResourceFailedError(Exception):
    """The service refused for good; the text is the ResourceStatusReason."""


class StillInUseError(Exception):
    """A dependency is in the way; CloudFormation tries again for some minutes."""


@dataclass(frozen=True, slots=True)
class Order:
    """One resource to make: its properties are resolved, the tags are the stack's.

    `rehearsal` is a fault of the scenario that this resource acts out.
    """

    site: Site
    stack_name: str
    logical_id: str
    properties: dict[str, Any]
    stack_tags: dict[str, str]
    rehearsal: str = ""

    @property
    def tags(self) -> dict[str, str]:
        """The resource's own tags over those that the stack passes on."""
        own = self.properties.get("Tags") or []
        named = {tag["Key"]: tag["Value"] for tag in own} if isinstance(own, list) else dict(own)
        return self.stack_tags | named

    def tagged(self, resource_id: str) -> str:
        """Tag something of EC2 that was just made; its id."""
        self.site.ec2.create_tags([resource_id], self.tags)
        return resource_id


class ResourceKind:
    """One type of resource. Durations are simulated seconds."""

    create_s: ClassVar[float] = 5.0
    delete_s: ClassVar[float] = 5.0

    def create(self, order: Order) -> str:
        """Begin to make it; the physical id. Raises ResourceFailedError."""
        raise NotImplementedError

    def is_ready(self, site: Site, physical_id: str) -> bool:
        """Whether it is complete. Raises ResourceFailedError once it cannot become so."""
        return True

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        """What Fn::GetAtt may ask, once ready."""
        return {}

    def delete(self, site: Site, physical_id: str) -> None:
        """Begin to remove it; one that is gone is no error. Raises StillInUseError."""

    def is_gone(self, site: Site, physical_id: str) -> bool:
        """Whether it is gone. Raises ResourceFailedError once it cannot go."""
        return True
