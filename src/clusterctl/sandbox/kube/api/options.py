"""What a client may say about a write or a deletion beside the object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.objects import Object


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Who writes what part of an object, and whether it is only a rehearsal."""

    manager: str = "kube-apiserver"
    subresource: str = ""
    dry_run: bool = False
    applies: bool = False  # the object comes from server-side apply and carries its managedFields


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """metav1.DeleteOptions."""

    dry_run: bool = False
    grace_period_s: int | None = None
    propagation: str | None = None  # Background, Foreground or Orphan
    uid: str | None = None
    resource_version: str | None = None

    @classmethod
    def from_json(cls, body: Object, *, dry_run: bool = False) -> DeleteOptions:
        preconditions = body.get("preconditions") or {}
        orphan = "Orphan" if body.get("orphanDependents") else None
        return cls(
            dry_run=dry_run or "All" in (body.get("dryRun") or []),
            grace_period_s=body.get("gracePeriodSeconds"),
            propagation=body.get("propagationPolicy") or orphan,
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
        )
