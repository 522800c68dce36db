"""moto's server with our extensions: threaded, on loopback, keeping connections alive."""

from __future__ import annotations

import logging
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from moto.core import responses as moto_responses
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

from clusterctl.sandbox.cloud.control import Control
from clusterctl.sandbox.cloud.extension import install
from clusterctl.sandbox.cloud.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.sandbox.cloud.extension import Extension, Part
    from clusterctl.sandbox.cloud.world import World


class _Handler(MotoRequestHandler):  # type: ignore[misc]
    """Keeps connections alive, which werkzeug's own handler does not; the application reads every body."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def run_wsgi(self) -> None:
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        started: list[tuple[str, list[tuple[str, str]]]] = []
        self.environ = self.make_environ()
        try:
            chunks = self.server.app(self.environ, lambda *start: started.append(start[:2]))
            body = b"".join(chunks)
        except ConnectionError:
            self.close_connection = True
            return
        status, headers = started[-1]
        self._send(int(status.split()[0]), headers, body)

    def _send(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - werkzeug's name
        """Failures alone are worth a line."""
        if type == "error":
            logging.getLogger("werkzeug").error(message, *args)


class _Dispatcher(DomainDispatcherApplication):  # type: ignore[misc]
    """moto's choice of a service by host, remembered: by itself it lists moto's folders at every call."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._chosen: dict[str | None, Any] = {}

    def get_backend_for_host(self, host: str | None) -> Any:
        if host not in self._chosen:
            self._chosen[host] = super().get_backend_for_host(host)
        return self._chosen[host]


class Server:
    """AWS on a loopback port of its own."""

    def __init__(self, world: World, parts: Sequence[Part]) -> None:
        self.world = world
        extensions = [part(world) for part in parts]
        install(extensions)
        self.gate = Gate(world, _moto_app(extensions), Control(world, extensions, moto_api_backend.reset))
        self._server = make_server("127.0.0.1", 0, self.gate, threaded=True, request_handler=_Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        """Answer from now on, in a thread of its own."""
        self.world.timeline.start()
        threading.Thread(target=self._server.serve_forever, name="server", daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.world.timeline.stop()


def _moto_app(extensions: Sequence[Extension]) -> _Dispatcher:
    """moto's dispatcher, its services built beforehand so that no first call is slow."""
    moto_responses.method_names_from_class = cache(moto_responses.method_names_from_class)
    app = _Dispatcher()
    for service in dict.fromkeys(name for extension in extensions for name in extension.preload):
        app.app_instances[service] = create_backend_app(service)
    return app
