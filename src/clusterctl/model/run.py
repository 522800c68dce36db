"""What holds for a whole run: who runs it, for which account and cluster, and the marks on all that it makes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_OWNER, TAG_RUN


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run of clusterctl. Two runs differ in `run_id`."""

    run_id: str
    account_id: str
    owner: str
    cluster: str
    expires_at: datetime | None = None

    @property
    def tags(self) -> dict[str, str]:
        """The marks by which we know our own again; no expiry, no such tag."""
        marks = {TAG_RUN: self.run_id, TAG_CLUSTER: self.cluster, TAG_OWNER: self.owner}
        if self.expires_at:
            marks[TAG_EXPIRES] = self.expires_at.isoformat(timespec="seconds")
        return marks
