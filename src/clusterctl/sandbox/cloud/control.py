"""The control API under /moto-api: what tests, the kube daemon and the eksctl stand-in ask of the world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from werkzeug.wrappers import Request, Response

from clusterctl.errors import UsageError
from clusterctl.sandbox.cloud.world import Endpoint
from clusterctl.sandbox.scenario import Fault, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clusterctl.sandbox.cloud.extension import Extension, Inventory
    from clusterctl.sandbox.cloud.world import World

_PREFIX = "/moto-api/sandbox"
_BACKGROUND = {f"{_PREFIX}/{name}" for name in ("machines", "endpoints", "take-fault")}
_LONGEST_POLL_S = 30.0
_FAULTS = TypeAdapter(list[Fault])
_SELECTORS = ("region", "zone", "instance_type", "name", "crash_before", "crash_after")


class BadRequestError(Exception):
    """What the caller sent cannot be understood."""


class Control:
    """Answers the control API; everything is JSON."""

    def __init__(self, world: World, extensions: Sequence[Extension], reset_moto: Callable[[], None]) -> None:
        self._world = world
        self._extensions = extensions
        self._reset_moto = reset_moto
        self._routes: dict[tuple[str, str], Callable[[Request], Any]] = {
            ("GET", f"{_PREFIX}/state"): self._state,
            ("GET", f"{_PREFIX}/calls"): lambda _: {"calls": world.calls.rows()},
            ("POST", f"{_PREFIX}/calls"): self._clear_calls,
            ("POST", f"{_PREFIX}/scenario"): self._scenario,
            ("GET", f"{_PREFIX}/faults"): lambda _: {"faults": world.faults.rows()},
            ("POST", f"{_PREFIX}/faults"): self._add_faults,
            ("DELETE", f"{_PREFIX}/faults"): self._remove_faults,
            ("POST", f"{_PREFIX}/take-fault"): self._take_fault,
            ("GET", f"{_PREFIX}/machines"): self._machines,
            ("POST", f"{_PREFIX}/endpoints"): self._endpoints,
            ("POST", "/moto-api/reset"): self._reset,
        }

    def is_background(self, environ: dict[str, Any]) -> bool:
        """Whether the sandbox itself asks, so that the request is no sign of a user."""
        return environ.get("PATH_INFO", "") in _BACKGROUND

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ)
        body = request.get_data()  # read to the end, or the next request on this connection is misread
        response = self._respond(request) if body is not None else Response(status=400)
        return response(environ, start_response)

    def _respond(self, request: Request) -> Response:
        route = self._routes.get((request.method, request.path))
        if route is None:
            return _json({"error": f"no such control call: {request.method} {request.path}"}, 404)
        try:
            return _json(route(request))
        except (BadRequestError, UsageError, ValidationError) as problem:
            return _json({"error": str(problem)}, 400)

    def _state(self, _request: Request) -> Inventory:
        merged: Inventory = {}
        with self._world.lock:
            for extension in self._extensions:
                for region, kinds in extension.inventory().items():
                    for kind, rows in kinds.items():
                        if rows:
                            merged.setdefault(region, {}).setdefault(kind, []).extend(rows)
        return merged

    def _clear_calls(self, request: Request) -> dict[str, Any]:
        if _object(request).get("clear") is not True:
            raise BadRequestError('expected {"clear": true}')
        self._world.calls.clear()
        return {"calls": []}

    def _scenario(self, request: Request) -> dict[str, Any]:
        scenario = Scenario.model_validate(_object(request))
        with self._world.lock:
            self._world.rehearse(scenario)
        return scenario.model_dump(mode="json", exclude_defaults=True)

    def _add_faults(self, request: Request) -> dict[str, Any]:
        data = request.get_json(silent=True)
        given = data.get("faults", [data]) if isinstance(data, dict) else data
        with self._world.lock:
            self._world.faults.add(_FAULTS.validate_python(given))
            return {"faults": self._world.faults.rows()}

    def _remove_faults(self, _request: Request) -> dict[str, Any]:
        with self._world.lock:
            self._world.faults.replace(())
        return {"faults": []}

    def _take_fault(self, request: Request) -> dict[str, Any]:
        data = _object(request)
        facts = {key: [str(data[key])] for key in _SELECTORS if data.get(key) is not None}
        with self._world.lock:
            fault = self._world.faults.take(str(data.get("on", "")), facts)
        return {"fault": None if fault is None else fault.model_dump(exclude_none=True)}

    def _machines(self, request: Request) -> dict[str, Any]:
        after = request.args.get("after", 0, type=int)
        wait_s = min(request.args.get("wait_s", 0.0, type=float), _LONGEST_POLL_S)
        self._world.timeline.wait_for_change(after, wait_s)
        with self._world.lock:
            answer: dict[str, Any] = {"version": self._world.timeline.version, "clusters": [], "machines": []}
            source = next((e.machines for e in self._extensions if e.machines is not None), None)
            if source is not None:
                known = source()
                answer |= {"clusters": known.clusters, "machines": known.machines}
        return answer

    def _endpoints(self, request: Request) -> dict[str, Any]:
        data = _object(request)
        try:
            place = (str(data["region"]), str(data["cluster"]))
            endpoint = Endpoint(str(data["endpoint"]), str(data["certificate_authority"]))
        except KeyError as missing:
            raise BadRequestError(f"{missing} is missing") from None
        with self._world.lock:
            self._world.endpoints[place] = endpoint
            self._world.timeline.changed()
        return {"ok": True}

    def _reset(self, _request: Request) -> dict[str, Any]:
        with self._world.lock:
            self._world.reset()
            for extension in self._extensions:
                extension.reset()
            self._reset_moto()
        return {"status": "ok"}


def _object(request: Request) -> dict[str, Any]:
    data = request.get_json(silent=True)
    if not isinstance(data, dict):
        raise BadRequestError("expected a JSON object")
    return data


def _json(data: object, status: int = 200) -> Response:
    import json

    return Response(json.dumps(data, default=str), status=status, content_type="application/json")
