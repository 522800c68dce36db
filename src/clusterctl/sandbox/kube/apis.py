"""One cluster's Kubernetes API, whichever serves it: the built-in one, or a real kube-apiserver."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from clusterctl.sandbox.kube.access import ClusterAccess
from clusterctl.sandbox.kube.api.server import ApiServer
from clusterctl.sandbox.kube.authentication import Authenticator
from clusterctl.sandbox.kube.certificates import Certificates
from clusterctl.sandbox.kube.realserver import RealServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.sandbox.clock import SimClock

ASSETS = "KUBEBUILDER_ASSETS"


@dataclass(frozen=True, slots=True)
class ClusterName:
    """What makes a cluster one: clusters of two regions may share a name."""

    region: str
    name: str

    def __str__(self) -> str:
        return f"{self.region}/{self.name}"


class ClusterApi(Protocol):
    """A running API of one cluster."""

    access: ClusterAccess
    authenticator: Authenticator

    @property
    def last_use(self) -> float:
        """When somebody but the simulation asked (time.monotonic)."""

    @property
    def changes(self) -> Sequence[str] | None:
        """What they asked to be changed, as `METHOD path`; None where that is not known."""

    async def close(self) -> None: ...


class OpenApi(Protocol):
    """Opens the API of a cluster of a Kubernetes version."""

    async def __call__(self, cluster: ClusterName, version: str) -> ClusterApi: ...


@dataclass(slots=True)
class BuiltinApi:
    """The built-in server, in this process."""

    access: ClusterAccess
    authenticator: Authenticator
    server: ApiServer

    @property
    def last_use(self) -> float:
        return self.server.last_use

    @property
    def changes(self) -> Sequence[str]:
        return tuple(self.server.changes)

    async def close(self) -> None:
        await self.server.close()


@dataclass(frozen=True, slots=True)
class OpenBuiltin:
    """Opens built-in servers that live in simulated time."""

    clock: SimClock

    async def __call__(self, cluster: ClusterName, version: str) -> BuiltinApi:
        certificates = Certificates.issue(cluster.name)
        authenticator = Authenticator(cluster.name, secrets.token_urlsafe(24))
        server = ApiServer(
            authenticator, certificates.server_context(), certificates.authority, self.clock.now, version
        )
        await server.start()
        access = ClusterAccess(
            name=cluster.name,
            region=cluster.region,
            endpoint=server.url,
            certificate_authority=certificates.authority,
            token=authenticator.admin_token,
        )
        return BuiltinApi(access, authenticator, server)


@dataclass(slots=True)
class RealApi:
    """etcd and kube-apiserver as child processes."""

    access: ClusterAccess
    authenticator: Authenticator
    server: RealServer
    last_use: float = field(default_factory=time.monotonic)
    changes: Sequence[str] | None = None

    async def close(self) -> None:
        await self.server.close()


@dataclass(frozen=True, slots=True)
class OpenReal:
    """Opens real servers from a folder of binaries; `webhook_url` answers what EKS tokens stand for."""

    assets: Path
    folder: Path
    webhook_url: Callable[[ClusterName], str]

    async def __call__(self, cluster: ClusterName, version: str) -> RealApi:
        certificates = Certificates.issue(cluster.name)
        authenticator = Authenticator(cluster.name, secrets.token_urlsafe(24))
        folder = self.folder / "real" / cluster.region / cluster.name
        server = RealServer(self.assets, folder, certificates)
        await server.start(authenticator.admin_token, self.webhook_url(cluster))
        access = ClusterAccess(
            name=cluster.name,
            region=cluster.region,
            endpoint=server.url,
            certificate_authority=certificates.authority,
            token=authenticator.admin_token,
            emulates_pods=False,
        )
        return RealApi(access, authenticator, server)
