"""The status of a pod at an age: a pure function of its spec and behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.behaviour import INIT_S, PULL_S, Behaviour
from clusterctl.sandbox.kube.machines.kinds import condition, set_condition

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.kinds import Obj

_BACKOFF_S, _LONGEST_BACKOFF_S = 10.0, 300.0


@dataclass(frozen=True, slots=True)
class Moment:
    """Where the containers of a pod are: run number, state, and the age at which that changes."""

    phase: str  # Pending | Running | Succeeded | Failed
    state: str  # pulling | initializing | running | waiting | ended
    run: int
    began: float
    ended: float | None
    ready: bool
    next_change: float | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where and since when (simulated seconds since the epoch) a pod runs."""

    started: float
    pod_ip: str
    host_ip: str
    restarts: int = 0  # before this behaviour began


def moment(pod: Obj, age: float, behaviour: Behaviour) -> Moment:
    """Where the pod is at an age in simulated seconds since it was bound."""
    if age < PULL_S:
        return Moment("Pending", "pulling", 0, PULL_S, None, ready=False, next_change=PULL_S)
    begins = first_run(pod)
    if age < begins:
        return Moment("Pending", "initializing", 0, begins, None, ready=False, next_change=begins)
    run = 0
    while True:
        now = _in_run(run, begins, age, behaviour)
        if now is not None:
            return now
        ends = begins + (behaviour.run_s or 0.0)
        if not _restarts(pod, behaviour):
            phase = "Failed" if behaviour.exit_code else "Succeeded"
            return Moment(phase, "ended", run, begins, ends, ready=False, next_change=None)
        again = ends + min(_BACKOFF_S * 2**run, _LONGEST_BACKOFF_S)
        if age < again:
            return Moment("Running", "waiting", run, begins, ends, ready=False, next_change=again)
        run, begins = run + 1, again


def first_run(pod: Obj) -> float:
    """The age at which the containers first run: after the image and the init containers."""
    inits: int = sum(one.get("restartPolicy") != "Always" for one in pod["spec"].get("initContainers") or [])
    return PULL_S + inits * INIT_S


def _in_run(run: int, begins: float, age: float, behaviour: Behaviour) -> Moment | None:
    """The moment within a run; None when that run is over."""
    ends = None if behaviour.run_s is None else begins + behaviour.run_s
    if ends is not None and age >= ends:
        return None
    readies = None if behaviour.ready_s is None else begins + behaviour.ready_s
    ready = readies is not None and age >= readies
    changes = [one for one in (ends, None if ready else readies) if one is not None]
    return Moment("Running", "running", run, begins, None, ready, min(changes, default=None))


def _restarts(pod: Obj, behaviour: Behaviour) -> bool:
    policy = pod["spec"].get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and behaviour.exit_code != 0)


def status(pod: Obj, now: Moment, behaviour: Behaviour, place: Place) -> Obj:
    """The status fields a kubelet reports at this moment."""
    up = now.state in ("running", "waiting", "ended")
    result: Obj = {
        "phase": now.phase,
        "conditions": _conditions(pod, now, place, initialized=up),
        "hostIP": place.host_ip,
        "hostIPs": [{"ip": place.host_ip}],
        "startTime": _stamp(place.started),
        "containerStatuses": [_container(one, now, behaviour, place) for one in pod["spec"]["containers"]],
    }
    if now.state != "pulling":
        result |= {"podIP": place.pod_ip, "podIPs": [{"ip": place.pod_ip}]}
    inits = pod["spec"].get("initContainers") or []
    if inits:
        result["initContainerStatuses"] = [_init(one, now, place, done=up) for one in inits]
    return result


def _conditions(pod: Obj, now: Moment, place: Place, *, initialized: bool) -> list[Obj]:
    ready_reason = "" if now.ready else "PodCompleted" if now.phase == "Succeeded" else "ContainersNotReady"
    names = " ".join(one["name"] for one in pod["spec"]["containers"])
    unready = "" if now.ready or now.phase == "Succeeded" else f"containers with unready status: [{names}]"
    wanted = {
        "PodReadyToStartContainers": (now.state != "pulling", "", ""),
        "Initialized": (initialized, "" if initialized else "ContainersNotInitialized", ""),
        "Ready": (now.ready, ready_reason, unready),
        "ContainersReady": (now.ready, ready_reason, unready),
        "PodScheduled": (True, "", ""),
    }
    conditions = (pod.get("status") or {}).get("conditions") or []
    when = _stamp(place.started + (now.ended or now.began))
    for kind, (holds, reason, message) in wanted.items():
        fresh = condition(kind, "True" if holds else "False", reason, message, when)
        conditions = set_condition(conditions, {key: value for key, value in fresh.items() if value != ""})
    return conditions


def _container(container: Obj, now: Moment, behaviour: Behaviour, place: Place) -> Obj:
    image = container.get("image", "")
    report: Obj = {
        "name": container["name"],
        "image": image,
        "imageID": "" if now.state in ("pulling", "initializing") else f"{image.partition('@')[0]}@sha256:{'0' * 64}",
        "ready": now.ready,
        "started": now.state == "running",
        "restartCount": now.run + place.restarts,
        "state": _state(container, now, behaviour, place),
    }
    if now.run and now.state == "running":
        report["lastState"] = {"terminated": {"exitCode": behaviour.exit_code, "reason": _why(behaviour)}}
    elif now.state == "waiting":
        report["lastState"] = {"terminated": _terminated(now, behaviour, place)}
    return report


def _state(container: Obj, now: Moment, behaviour: Behaviour, place: Place) -> Obj:
    if now.state == "pulling":
        return {"waiting": {"reason": "ContainerCreating"}}
    if now.state == "initializing":
        return {"waiting": {"reason": "PodInitializing"}}
    if now.state == "running":
        return {"running": {"startedAt": _stamp(place.started + now.began)}}
    if now.state == "ended":
        return {"terminated": _terminated(now, behaviour, place)}
    pause = round(min(_BACKOFF_S * 2**now.run, _LONGEST_BACKOFF_S))
    text = f"back-off {pause}s restarting failed container={container['name']}"
    return {"waiting": {"reason": "CrashLoopBackOff", "message": text}}


def _terminated(now: Moment, behaviour: Behaviour, place: Place) -> Obj:
    return {
        "exitCode": behaviour.exit_code,
        "reason": _why(behaviour),
        "startedAt": _stamp(place.started + now.began),
        "finishedAt": _stamp(place.started + (now.ended or now.began)),
    }


def _why(behaviour: Behaviour) -> str:
    return "Error" if behaviour.exit_code else "Completed"


def _init(container: Obj, now: Moment, place: Place, *, done: bool) -> Obj:
    sidecar = container.get("restartPolicy") == "Always"
    started = _stamp(place.started + PULL_S)
    if now.state == "pulling":
        state: Obj = {"waiting": {"reason": "PodInitializing"}}
    elif sidecar or not done:
        state = {"running": {"startedAt": started}}
    else:
        state = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started}}
    good = done or (sidecar and now.state != "pulling")
    image = container.get("image", "")
    report = {"name": container["name"], "image": image, "imageID": "", "restartCount": 0}
    return {**report, "ready": good, "started": sidecar and now.state != "pulling", "state": state}


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
