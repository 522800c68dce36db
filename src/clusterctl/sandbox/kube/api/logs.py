"""Reading the logs of emulated containers, and the private way in which simulated kubelets write them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from aiohttp import web

from clusterctl.sandbox.kube.api.errors import bad_request

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.call import Call
    from clusterctl.sandbox.kube.api.containers import Line, PodState
    from clusterctl.sandbox.kube.api.objects import Object


async def log(call: Call) -> web.StreamResponse:
    """Lines of one container: tailLines, sinceSeconds, sinceTime, timestamps, limitBytes and follow."""
    pod = call.current()
    view = _View.of(call, _container(pod, call.query("container")))
    _check_started(pod, view.container)
    state = call.core.containers.of(pod)
    if call.flag("previous"):
        name = call.query("container") or view.container
        raise bad_request(f'previous terminated container "{name}" in pod "{call.name}" not found')
    text = view.tail(state.lines)
    if not call.flag("follow"):
        return web.Response(text=text)
    return await _follow(call, view, state, text)


def container_for_writing(pod: Object, name: str) -> str:
    return name or str(pod["spec"]["containers"][0]["name"])


@dataclass(frozen=True, slots=True)
class _View:
    """Which lines a reader asked for, and how they look."""

    container: str
    since: datetime
    count: int | None
    timestamps: bool
    limit: int | None

    @classmethod
    def of(cls, call: Call, container: str) -> _View:
        since = datetime.min.replace(tzinfo=UTC)
        if seconds := call.query("sinceSeconds"):
            since = call.core.now() - timedelta(seconds=int(seconds))
        elif moment := call.query("sinceTime"):
            since = datetime.fromisoformat(moment)
        tail, limit = call.query("tailLines"), call.query("limitBytes")
        return cls(
            container, since, int(tail) if tail else None, call.flag("timestamps"), int(limit) if limit else None
        )

    def tail(self, lines: list[Line]) -> str:
        chosen = [line for line in lines if line.container == self.container and line.at >= self.since]
        if self.count is not None:
            chosen = chosen[max(len(chosen) - self.count, 0) :]
        return "".join(map(self._shown, chosen))[: self.limit]

    def all(self, lines: list[Line]) -> str:
        return "".join(self._shown(line) for line in lines if line.container == self.container)

    def _shown(self, line: Line) -> str:
        stamp = line.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ ") if self.timestamps else ""
        return f"{stamp}{line.text}\n"


async def _follow(call: Call, view: _View, state: PodState, text: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(call.request)
    closing = asyncio.ensure_future(call.core.closing.wait())
    seen = state.dropped + len(state.lines)
    try:
        while True:
            changed = asyncio.ensure_future(state.changed.wait())
            if text:
                await response.write(text.encode())
            if state.ended or closing.done():
                changed.cancel()
                return response
            await asyncio.wait({changed, closing}, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            text, seen = view.all(state.lines_after(seen)), state.dropped + len(state.lines)
    except ConnectionError:
        return response
    finally:
        closing.cancel()


def _container(pod: Object, asked: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    names = [c["name"] for c in spec["containers"]]
    initial = [c["name"] for c in spec.get("initContainers") or []]
    if not asked and len(names) > 1:
        default: str = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container", "")
        if default not in names:
            choice = f"choose one of: [{' '.join(names)}]"
            raise bad_request(f"a container name must be specified for pod {name}, {choice}")
        asked = default
    if asked and asked not in {*names, *initial}:
        raise bad_request(f"container {asked} is not valid for pod {name}")
    return str(asked or names[0])


def _check_started(pod: Object, container: str) -> None:
    """A container that waits has no log yet; without a node there is nobody to ask."""
    status = pod.get("status") or {}
    statuses = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    own: Object = next((one for one in statuses if one["name"] == container), {})
    waiting = (own.get("state") or {}).get("waiting")
    if waiting and not own.get("restartCount") and not (own.get("lastState") or {}).get("terminated"):
        reason = waiting.get("reason", "ContainerCreating")
        name = pod["metadata"]["name"]
        raise bad_request(f'container "{container}" in pod "{name}" is waiting to start: {reason}')
