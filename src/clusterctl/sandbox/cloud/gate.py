"""Where every request passes: credentials, latency, faults and the call log, then moto under the world lock."""

from __future__ import annotations

import logging
import socket
import time
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.cloud import requests
from clusterctl.sandbox.cloud.calls import Call, is_mutating
from clusterctl.sandbox.cloud.refusals import Answer, Refusal, corrected, error_code, render
from clusterctl.sandbox.state import ACCESS_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clusterctl.sandbox.cloud.control import Control
    from clusterctl.sandbox.cloud.requests import AwsRequest
    from clusterctl.sandbox.cloud.world import World
    from clusterctl.sandbox.scenario import Fault

EXPIRED_KEY = "AKIAEXPIRED000000000"
_GLOBAL_SERVICES = {"iam", "pricing", "s3", "route53"}
_log = logging.getLogger(__name__)
WsgiApp = "Callable[[dict[str, Any], Any], Iterable[bytes]]"


class Gate:
    """The WSGI application of the daemon. `last_request` is real, monotonic: when somebody last asked."""

    def __init__(self, world: World, moto_app: Callable[..., Iterable[bytes]], control: Control) -> None:
        self._world = world
        self._moto = moto_app
        self._control = control
        self.last_request = time.monotonic()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "").startswith("/moto-api"):
            if not self._control.is_background(environ):
                self.last_request = time.monotonic()
            return self._control(environ, start_response)
        self.last_request = time.monotonic()
        answer = self._answer(environ, requests.read(environ))
        start_response(answer.status, answer.headers)
        return [answer.body]

    def _answer(self, environ: dict[str, Any], request: AwsRequest) -> Answer:
        world = self._world
        time.sleep(world.scenario.latency_ms / 1000)
        with world.lock:
            refusal = self._bad_credentials(request) or self._closed_region(request)
            fault = None if refusal else world.faults.take(f"{request.service}:{request.action}", self._facts(request))
        if fault is not None and fault.delay_s:
            world.clock.sleep(fault.delay_s)
        refusal = refusal or _refusal_before_work(fault)
        answer = render(refusal, request) if refusal else self._work(environ, request)
        answer = self._spoil(fault, answer, request)
        self._log_call(request, error_code(answer))
        if fault is not None and fault.lose_response and fault.error is None:
            _break_connection(environ)
        return answer

    def _spoil(self, fault: Fault | None, answer: Answer, request: AwsRequest) -> Answer:
        """The work is done, and another answer is sent: an error instead of the response that got lost."""
        if fault is None or not fault.lose_response or fault.error is None:
            return answer
        return render(Refusal(fault.error, fault.message or "", fault.status), request)

    def _work(self, environ: dict[str, Any], request: AwsRequest) -> Answer:
        try:
            with self._world.lock:
                return corrected(_run(self._moto, environ), request.service)
        except NotImplementedError:
            _log.warning("%s:%s is not part of the sandbox", request.service, request.action)
            message = f"The action {request.action} is not valid for this web service."
            return render(Refusal("InvalidAction", message, 400), request)
        except Exception:  # noqa: BLE001 - a bug of ours or of moto must look like AWS' own failure
            _log.exception("%s:%s failed", request.service, request.action)
            return render(Refusal("InternalFailure", "An internal error has occurred"), request)

    def _bad_credentials(self, request: AwsRequest) -> Refusal | None:
        if request.access_key == EXPIRED_KEY:
            message = "The security token included in the request is expired"
            return Refusal("ExpiredToken", message, 403)
        if request.access_key != ACCESS_KEY:
            message = "The security token included in the request is invalid."
            return Refusal("InvalidClientTokenId", message, 403)
        return None

    def _closed_region(self, request: AwsRequest) -> Refusal | None:
        if request.service in _GLOBAL_SERVICES or request.region in self._world.geography.enabled:
            return None
        if request.service == "ec2":
            message = "AWS was not able to validate the provided access credentials"
            return Refusal("AuthFailure", message, 401)
        message = "The security token included in the request is invalid."
        is_query = request.protocol == "query"
        return Refusal("InvalidClientTokenId" if is_query else "UnrecognizedClientException", message, 403)

    def _facts(self, request: AwsRequest) -> dict[str, list[str]]:
        given = request.values("AvailabilityZone", "AvailabilityZoneId")
        zones = [self._world.geography.zone(request.region, zone) for zone in given]
        return {
            "region": [request.region],
            "zone": [name for zone in zones if zone for name in (zone.name, zone.zone_id)],
            "instance_type": request.values("InstanceType", "InstanceTypes"),
            "name": request.names(),
        }

    def _log_call(self, request: AwsRequest, error: str | None) -> None:
        at = self._world.clock.timestamp()
        mutating = is_mutating(request.action)
        call = Call(at, request.service, request.action, request.region, mutating, error, request.agent)
        self._world.calls.add(call)


def _refusal_before_work(fault: Fault | None) -> Refusal | None:
    if fault is None or fault.error is None or fault.lose_response:
        return None
    return Refusal(fault.error, fault.message or "", fault.status)


def _run(app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> Answer:
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], _exc_info: Any = None) -> None:
        started.append((status, headers))

    body = b"".join(app(environ, start_response))
    status, headers = started[-1]
    return Answer(status, headers, body)


def _break_connection(environ: dict[str, Any]) -> None:
    """End the connection without an answer. Raises ConnectionAbortedError, which the server takes quietly."""
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionAbortedError
