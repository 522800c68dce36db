"""The kube daemon's own small HTTP interface, and the webhook that tells a real kube-apiserver who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from aiohttp import web

from clusterctl.sandbox.kube.apis import ClusterName

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.sandbox.kube.authentication import Authenticator


class Control:
    """GET /healthz, GET /clusters, POST /stop, POST /authenticate/REGION/CLUSTER on 127.0.0.1."""

    def __init__(self, describe: Callable[[], list[dict[str, Any]]], stop: Callable[[], None]) -> None:
        self.url = ""
        self.authenticators: dict[ClusterName, Authenticator] = {}
        self._describe = describe
        self._stop = stop
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/clusters", self._clusters)
        app.router.add_post("/stop", self._stopped)
        app.router.add_post("/authenticate/{region}/{cluster}", self._review)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)

    async def start(self) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        await self._runner.cleanup()

    def webhook_url(self, cluster: ClusterName) -> str:
        return f"{self.url}/authenticate/{quote(cluster.region)}/{quote(cluster.name)}"

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _clusters(self, _request: web.Request) -> web.Response:
        return web.json_response({"clusters": self._describe()})

    async def _stopped(self, _request: web.Request) -> web.Response:
        self._stop()
        return web.json_response({"stopping": True})

    async def _review(self, request: web.Request) -> web.Response:
        """authentication.k8s.io/v1 TokenReview."""
        review = await request.json()
        cluster = ClusterName(request.match_info["region"], request.match_info["cluster"])
        authenticate = self.authenticators.get(cluster)
        token = (review.get("spec") or {}).get("token", "")
        user = authenticate(token) if authenticate is not None else None
        status: dict[str, object] = {"authenticated": user is not None}
        if user is not None:
            status["user"] = {"username": user.name, "groups": list(user.groups)}
        return web.json_response({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status})
