"""kubectl exec over WebSockets, answered by emulated containers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from clusterctl.sandbox.kube.api.commands import reads_stdin
from clusterctl.sandbox.kube.api.errors import StatusError, bad_request

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.call import Call
    from clusterctl.sandbox.kube.api.objects import Object

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_STDIN, _STDOUT, _STDERR, _ERROR, _CLOSE = 0, 1, 2, 3, 255
_FRAME = 32 << 10


async def execute(call: Call) -> web.StreamResponse:
    """Run an emulated command; the last frame carries a Status with the exit code."""
    pod = call.current()
    _check_running(pod)
    if call.request.headers.get("Upgrade", "").lower() != "websocket":
        raise bad_request("Upgrade request required: only WebSockets are supported")
    socket = web.WebSocketResponse(protocols=PROTOCOLS)
    await socket.prepare(call.request)
    words = call.request.query.getall("command", [])
    stdin = await _read_stdin(socket) if call.flag("stdin") and reads_stdin(words) else b""
    outcome = call.core.containers.run(pod, words, stdin)
    for channel, data in ((_STDOUT, outcome.stdout), (_STDERR, outcome.stderr)):
        for start in range(0, len(data), _FRAME):
            await socket.send_bytes(bytes([channel]) + data[start : start + _FRAME])
    await socket.send_bytes(bytes([_ERROR]) + json.dumps(_exit_status(outcome.code)).encode())
    await socket.close()
    return socket


async def _read_stdin(socket: web.WebSocketResponse) -> bytes:
    received = b""
    async for message in socket:
        if message.type is not WSMsgType.BINARY or not message.data:
            continue
        if message.data[0] == _STDIN:
            received += message.data[1:]
        elif message.data[0] == _CLOSE:
            break
    return received


def _check_running(pod: Object) -> None:
    name, phase = pod["metadata"]["name"], (pod.get("status") or {}).get("phase")
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {name} does not have a host assigned")
    if phase in {"Failed", "Succeeded"}:
        message = f"cannot exec into a container in a completed pod; current phase is {phase}"
        raise StatusError(400, "BadRequest", message)


def _exit_status(code: int) -> Object:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
