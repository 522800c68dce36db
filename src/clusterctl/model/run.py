"""What holds for a whole run: who runs it, for which account and cluster, and the marks on all that it makes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_OWNER, TAG_RUN
from clusterctl.model.names import kubeconfig_name


@dataclass(frozen=True, slots=True)
class Earlier:
    """What this machine's journal tells of runs that did not end well: none of them is alive any more."""

    runs: frozenset[str] = frozenset()  # run ids
    removals: frozenset[str] = frozenset()  # names of what they began to delete


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run of clusterctl. Two runs differ in `run_id`."""

    run_id: str
    account_id: str
    owner: str
    cluster: str
    expires_at: datetime | None = None
    kubeconfigs: str = ""  # the folder of our kubeconfigs
    earlier: Earlier = Earlier()

    def kubeconfig(self, region: str) -> str:
        """Where the kubeconfig of this run's cluster is, or will be."""
        return f"{self.kubeconfigs}/{kubeconfig_name(region, self.cluster)}" if self.kubeconfigs else ""

    @property
    def tags(self) -> dict[str, str]:
        """The marks by which we know our own again; no expiry, no such tag."""
        marks = {TAG_RUN: self.run_id, TAG_CLUSTER: self.cluster, TAG_OWNER: self.owner}
        if self.expires_at:
            marks[TAG_EXPIRES] = self.expires_at.isoformat(timespec="seconds")
        return marks
