"""What the kube daemon asks of the sandbox's AWS: clusters, machines, faults; and what it tells: endpoints."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.sandbox.kube.access import ClusterAccess

_POLL_S = 5.0  # real seconds that AWS may hold a poll


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Clusters and machines at one version of the world."""

    version: int
    clusters: tuple[Mapping[str, Any], ...]
    machines: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class CloudFeed:
    """Calls AWS's control API; every call raises aiohttp.ClientError when AWS does not answer."""

    session: aiohttp.ClientSession
    url: str

    async def snapshot(self, after: int) -> Snapshot:
        """The world as soon as it is newer than `after`, else as it is some seconds later."""
        query = {"after": str(after), "wait_s": str(_POLL_S)}
        wait = aiohttp.ClientTimeout(total=_POLL_S + 10)
        async with self.session.get(self._path("machines"), params=query, timeout=wait) as response:
            response.raise_for_status()
            data = await response.json()
        return Snapshot(data["version"], tuple(data["clusters"]), tuple(data["machines"]))

    async def announce(self, access: ClusterAccess) -> None:
        """Tell EKS where a cluster answers; it turns ACTIVE only then."""
        authority = base64.b64encode(access.certificate_authority.encode()).decode()
        await self._post(
            "endpoints",
            {
                "cluster": access.name,
                "region": access.region,
                "endpoint": access.endpoint,
                "certificate_authority": authority,
            },
        )

    async def take_fault(self, on: str, **selectors: str) -> dict[str, Any] | None:
        """The fault that the scenario has for this, counted down."""
        answer = await self._post("take-fault", {"on": on, **selectors})
        fault: dict[str, Any] | None = answer.get("fault")
        return fault

    async def _post(self, call: str, body: Mapping[str, str]) -> dict[str, Any]:
        async with self.session.post(self._path(call), json=body) as response:
            response.raise_for_status()
            data: dict[str, Any] = await response.json()
            return data

    def _path(self, call: str) -> str:
        return f"{self.url}/moto-api/sandbox/{call}"
