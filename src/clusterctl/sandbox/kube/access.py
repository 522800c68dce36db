"""The seam between the daemon that opens Kubernetes APIs and the machines that are clients of them."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from clusterctl.sandbox.clock import SimClock


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How to reach one cluster's API as its administrator.

    The API behaves as a real one, so clients must do what real ones do: a pod bound to a node is deleted
    gracefully (deletionTimestamp first; its kubelet then deletes it with gracePeriodSeconds 0), pods of a
    vanished node are deleted by whoever plays the pod garbage collector, and a watch may answer 410.

    Where `emulates_pods`, three private calls stand in for what a kubelet serves itself (with this token only):
      POST /sandbox/pods/NAMESPACE/NAME/log   {"lines": [...], "container": name, or left out for the first}
      POST /sandbox/pods/NAMESPACE/NAME/exec  {"match": regex on the words joined by blanks,
                                               "stdout", "stderr", "code"}
      GET  /sandbox/pods/NAMESPACE/NAME/commands  what was run there, oldest first
    """

    name: str
    region: str
    endpoint: str
    certificate_authority: str  # PEM
    token: str = field(repr=False)
    emulates_pods: bool = True  # the built-in API keeps logs and canned exec answers; a real one does not

    def ssl_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.certificate_authority)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class Machine:
    """One running EC2 instance of a node group, as AWS knows it."""

    instance_id: str
    region: str
    zone: str
    zone_id: str
    cluster: str
    nodegroup: str
    instance_type: str
    private_ip: str
    private_dns: str
    ami_type: str
    architecture: str
    capacity_type: str
    vcpus: int
    memory_mib: int
    launched_at: float  # simulated seconds since the epoch
    joins: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    efa_interfaces: int = 0
    gpus: int = 0
    gpu_name: str = ""
    neuron_devices: int = 0
    neuron_cores: int = 0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Machine:
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in data.items() if key in known and value is not None}
        return cls(**{**values, "taints": tuple(data.get("taints") or ())})


class TakeFault(Protocol):
    """Asks the scenario for a fault and counts it down; None when nothing is to go wrong."""

    async def __call__(self, on: str, **selectors: str) -> dict[str, Any] | None: ...


class Feed:
    """What AWS says about one cluster's machines, and what the scenario wants to go wrong.

    The daemon publishes. `machines` is the newest list; `changes()` yields it now and after each change.
    """

    def __init__(self, clock: SimClock, take_fault: TakeFault) -> None:
        self.clock = clock
        self.take_fault = take_fault
        self.machines: tuple[Machine, ...] = ()
        self._changed = asyncio.Event()

    def publish(self, machines: Iterable[Machine]) -> None:
        """Replace the list; wakes everybody who waits in `changes()` if it differs."""
        fresh = tuple(machines)
        if fresh == self.machines:
            return
        self.machines = fresh
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def changes(self) -> AsyncIterator[tuple[Machine, ...]]:
        """The list of machines as it is now, then again whenever it is another one."""
        while True:
            changed = self._changed
            yield self.machines
            await changed.wait()
