"""One cluster's API over TLS on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

from clusterctl.sandbox.kube.api.call import answer, success
from clusterctl.sandbox.kube.api.commands import Outcome
from clusterctl.sandbox.kube.api.core import Core
from clusterctl.sandbox.kube.api.errors import StatusError, bad_request, forbidden, unauthorized
from clusterctl.sandbox.kube.api.logs import container_for_writing
from clusterctl.sandbox.kube.api.routing import HEALTH, route
from clusterctl.sandbox.kube.authentication import ADMIN_GROUP, User

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from clusterctl.sandbox.kube.authentication import Authenticate

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_LOG = logging.getLogger(__name__)
_LARGEST_BODY = 16 << 20
_READING = ("GET", "HEAD", "OPTIONS")
_KEPT_CHANGES = 2000


@dataclass(slots=True)
class ApiServer:
    """Serves from `start` to `close`.

    `last_use` is when somebody but the simulation asked (time.monotonic), `changes` what they asked to be changed.
    """

    authenticate: Authenticate
    tls: ssl.SSLContext
    certificate_authority: str
    now: Callable[[], datetime]
    version: str = ""
    url: str = ""
    last_use: float = field(default_factory=time.monotonic)
    changes: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_CHANGES))
    _core: Core | None = None
    _runner: web.AppRunner | None = None

    @property
    def core(self) -> Core:
        if self._core is None:
            raise RuntimeError("the server has not started")
        return self._core

    async def start(self, port: int = 0) -> None:
        later = asyncio.get_running_loop().call_later
        self._core = Core.with_contents(self.now, self.certificate_authority, later)
        app = web.Application(client_max_size=_LARGEST_BODY, middlewares=[self._answer_errors])
        app.router.add_post("/sandbox/pods/{namespace}/{name}/log", self._write_log)
        app.router.add_post("/sandbox/pods/{namespace}/{name}/exec", self._set_answer)
        app.router.add_get("/sandbox/pods/{namespace}/{name}/commands", self._commands)
        app.router.add_route("*", "/{path:.*}", self._dispatch)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=self.tls, backlog=512).start()
        self.url = f"https://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        if self._core is not None:
            self._core.closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _answer_errors(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            self._let_in(request)
            return await handler(request)
        except StatusError as refusal:
            return answer(refusal.to_status(), refusal.code)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            # an object of a shape that no typed server would have decoded
            _LOG.exception("%s %s", request.method, request.path_qs)
            return answer(bad_request(f"cannot decode the object: {problem!r}").to_status(), 400)

    def _let_in(self, request: web.Request) -> None:
        if request.path in HEALTH:
            return
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        user = self._user(token) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        request["user"] = user
        if not user.is_simulation:
            self.last_use = time.monotonic()
            if request.method not in _READING:
                self.changes.append(f"{request.method} {request.path}")

    def _user(self, token: str) -> User | None:
        if (account := self.core.issued_tokens.get(token)) is not None:
            return User(account, ("system:serviceaccounts",))
        return self.authenticate(token)

    async def _dispatch(self, request: web.Request) -> web.StreamResponse:
        if request.path in HEALTH:
            return web.Response(text="ok")
        return await route(request, self.core, self.version)

    async def _write_log(self, request: web.Request) -> web.Response:
        """{"lines": [...], "container": name}; the first container when none is named."""
        pod, body = self._pod(request), json.loads(await request.read())
        container = container_for_writing(pod, body.get("container") or "")
        self.core.containers.append(pod, container, body["lines"])
        return success()

    async def _set_answer(self, request: web.Request) -> web.Response:
        """{"match": regex on the command's words joined by blanks, "stdout", "stderr", "code"}."""
        pod, body = self._pod(request), json.loads(await request.read())
        outcome = Outcome(body.get("code", 0), body.get("stdout", "").encode(), body.get("stderr", "").encode())
        self.core.containers.answer(pod, re.compile(body["match"]), outcome)
        return success()

    async def _commands(self, request: web.Request) -> web.Response:
        """The commands that were run in a pod, oldest first."""
        return web.json_response({"commands": self.core.containers.of(self._pod(request)).commands})

    def _pod(self, request: web.Request) -> dict[str, object]:
        """The pod of a private call, which only the simulation may make."""
        pods, name = self.core.registry.builtin_kind("pods"), request.match_info["name"]
        user: User = request["user"]
        if ADMIN_GROUP not in user.groups or not user.is_simulation:
            raise forbidden(pods, name, "only simulated kubelets write here")
        return self.core.store.get(pods, request.match_info["namespace"], name)
