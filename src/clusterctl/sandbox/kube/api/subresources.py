"""scale, binding, eviction and service account tokens."""

from __future__ import annotations

import base64
import json
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.api.call import answer, success
from clusterctl.sandbox.kube.api.errors import StatusError, bad_request, method_not_allowed
from clusterctl.sandbox.kube.api.lifecycle import rfc3339
from clusterctl.sandbox.kube.api.objects import labels_of
from clusterctl.sandbox.kube.api.options import DeleteOptions
from clusterctl.sandbox.kube.api.patching.merge import merge_patch
from clusterctl.sandbox.kube.api.resources import PODS
from clusterctl.sandbox.kube.api.selectors import selector_matches

if TYPE_CHECKING:
    from aiohttp import web

    from clusterctl.sandbox.kube.api.call import Call
    from clusterctl.sandbox.kube.api.objects import Object

_BUDGETS = ("policy", "poddisruptionbudgets")


async def scale(call: Call) -> web.Response:
    """autoscaling/v1 Scale of a workload, or of a custom resource that declares its paths."""
    old = call.current()
    if call.request.method == "GET":
        return answer(_scale_of(call, old))
    if call.request.method not in {"PUT", "PATCH"}:
        raise method_not_allowed()
    body = await call.body()
    wanted = body if call.request.method == "PUT" else merge_patch(_scale_of(call, old), body)
    replicas = (wanted.get("spec") or {}).get("replicas", 0)
    new = merge_patch(old, _nested(_scale_paths(call)[0], replicas))
    new["metadata"] = {k: v for k, v in new["metadata"].items() if k != "resourceVersion"}
    return answer(_scale_of(call, call.core.lifecycle.update(call.resource, old, new, call.write_options())))


async def bind(call: Call) -> web.Response:
    """What a scheduler does: give a pod its node."""
    target = (await call.body()).get("target") or {}
    if not target.get("name"):
        raise bad_request("target.name: Required value")
    pod = call.current()
    if (pod.get("spec") or {}).get("nodeName"):
        message = f'Operation cannot be fulfilled on pods/binding "{call.name}": pod {call.name} is already assigned'
        raise StatusError(409, "Conflict", message)
    bound = {**pod, "spec": {**pod["spec"], "nodeName": target["name"]}}
    call.core.lifecycle.update(call.resource, pod, bound, call.write_options())
    return success(201)


async def evict(call: Call) -> web.Response:
    """Delete a pod unless a PodDisruptionBudget forbids it. Raises 429 then, as `kubectl drain` expects."""
    body = await call.body()
    pod = call.current()
    options = DeleteOptions.from_json(body.get("deleteOptions") or {}, dry_run=call.dry_run)
    for budget in call.core.store.select(_BUDGETS, call.namespace):
        if selector_matches(budget["spec"].get("selector"), labels_of(pod)) and _is_ready(pod):
            _check_budget(call, budget)
    call.core.lifecycle.delete(call.resource, pod, options)
    return success(201)


async def token(call: Call) -> web.Response:
    """A token of a service account; it opens this API alone."""
    body = await call.body()
    call.current()
    lifetime = (body.get("spec") or {}).get("expirationSeconds") or 3600
    expires = rfc3339(call.core.now() + timedelta(seconds=lifetime))
    name = f"system:serviceaccount:{call.namespace}:{call.name}"
    issued = ".".join([_encoded({"alg": "RS256"}), _encoded({"sub": name, "iss": "sandbox"}), secrets.token_hex(16)])
    call.core.issued_tokens[issued] = name
    return answer({**body, "status": {"token": issued, "expirationTimestamp": expires}}, 201)


def _scale_paths(call: Call) -> tuple[str, str]:
    declared = ((call.resource.definition or {}).get("subresources") or {}).get("scale") or {}
    return declared.get("specReplicasPath", ".spec.replicas"), declared.get("statusReplicasPath", ".status.replicas")


def _scale_of(call: Call, obj: Object) -> Object:
    wanted, actual = (_at(obj, path) for path in _scale_paths(call))
    selector = ((obj.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    kept = ("name", "namespace", "uid", "creationTimestamp", "resourceVersion")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: obj["metadata"][name] for name in kept if name in obj["metadata"]},
        "spec": {"replicas": wanted},
        "status": {"replicas": actual, "selector": ",".join(f"{k}={v}" for k, v in selector.items())},
    }


def _at(obj: Object, path: str) -> int:
    found: Object | int = obj
    for name in path.strip(".").split("."):
        found = (found.get(name) or {}) if isinstance(found, dict) else {}
    return found if isinstance(found, int) else 0


def _nested(path: str, value: int) -> Object:
    first, *rest = path.strip(".").split(".")
    return {first: _nested(".".join(rest), value) if rest else value}


def _check_budget(call: Call, budget: Object) -> None:
    spec = budget["spec"]
    guarded = [
        pod
        for pod in call.core.store.select(PODS, call.namespace)
        if selector_matches(spec.get("selector"), labels_of(pod))
    ]
    healthy = sum(map(_is_ready, guarded))
    if "maxUnavailable" in spec:
        needed = len(guarded) - _share(spec["maxUnavailable"], len(guarded))
    else:
        needed = _share(spec.get("minAvailable", 1), len(guarded))
    if healthy - 1 < needed:
        name = budget["metadata"]["name"]
        why = f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
        cause = {"reason": "DisruptionBudget", "message": why}
        message = "Cannot evict pod as it would violate the pod's disruption budget."
        raise StatusError(429, "TooManyRequests", message, {"causes": [cause]})


def _share(amount: int | str, total: int) -> int:
    """A count, or a percentage of all, rounded up."""
    if isinstance(amount, str) and amount.endswith("%"):
        return -(-int(amount[:-1]) * total // 100)
    return int(amount)


def _is_ready(pod: Object) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _encoded(part: Object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
