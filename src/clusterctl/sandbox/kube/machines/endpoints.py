"""Endpoints and EndpointSlices of Services that select pods, and host names of load balancers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from clusterctl.sandbox.kube.machines.cluster import digest
from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    ENDPOINT_SLICE,
    ENDPOINTS,
    POD,
    SERVICE,
    is_deleting,
    is_finished,
    is_ready,
    key_of,
    labels_of,
    owner_reference,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj

CLEANUP = "service.kubernetes.io/load-balancer-cleanup"


class LoadBalancers(Protocol):
    """Makes and removes the AWS side of a Service of type LoadBalancer."""

    async def ensure(self, service: Obj) -> str:
        """The host name of the service's load balancer, which is made if there is none."""

    async def remove(self, service: Obj) -> None: ...


class NamesOnly:
    """Load balancers that are a host name, as the cloud provider of EKS would form it, and nothing else."""

    def __init__(self, region: str) -> None:
        self._region = region

    async def ensure(self, service: Obj) -> str:
        name = "a" + service["metadata"]["uid"].replace("-", "")[:31]
        number = int.from_bytes(name.encode()[:4], "big")
        return f"{name}-{number}.{self._region}.elb.amazonaws.com"

    async def remove(self, service: Obj) -> None:
        return None


class Services(Controller):
    """Keeps the endpoints of each Service in step with its ready pods."""

    kind = SERVICE
    reads = (POD, ENDPOINTS, ENDPOINT_SLICE)

    def __init__(self, cluster: Cluster, balancers: LoadBalancers) -> None:
        super().__init__(cluster)
        self._balancers = balancers

    def subscribe(self) -> None:
        super().subscribe()
        self.listen(POD, self._pod_changed)

    def _pod_changed(self, pod: Obj, old: Obj | None) -> None:
        if old is not None and old is not pod and _as_target(old) == _as_target(pod):
            return
        for service in self.cluster.informer(SERVICE):
            if service["metadata"]["namespace"] == pod["metadata"]["namespace"] and _selects(service, pod):
                self.add(key_of(service))

    async def reconcile(self, key: Key) -> float | None:
        service = self.cluster.informer(SERVICE).get(*key)
        if service is None:
            await self._drop_endpoints(key)
            return None
        if service["spec"].get("type") == "LoadBalancer":
            await self._balance(service)
        elif CLEANUP in (service["metadata"].get("finalizers") or []):
            await self._unbalance(service)
        if service["spec"].get("selector") and not is_deleting(service):
            await self._publish(service)
        return None

    async def _balance(self, service: Obj) -> None:
        if is_deleting(service):
            await self._unbalance(service)
            return
        if service["spec"].get("loadBalancerClass"):
            return  # another controller's
        stored = await self.cluster.modify(SERVICE, service, _add_finalizer)
        if stored:
            host = await self._balancers.ensure(stored)
            await self.cluster.set_status(SERVICE, stored, {"loadBalancer": {"ingress": [{"hostname": host}]}})

    async def _unbalance(self, service: Obj) -> None:
        if CLEANUP in (service["metadata"].get("finalizers") or []):
            await self._balancers.remove(service)
            await self.cluster.modify(SERVICE, service, _drop_finalizer)

    async def _publish(self, service: Obj) -> None:
        namespace = service["metadata"]["namespace"]
        pods = [pod for pod in self.cluster.informer(POD) if pod["metadata"]["namespace"] == namespace]
        chosen = sorted((pod for pod in pods if _selects(service, pod) and _has_address(pod)), key=key_of)
        await self._write_endpoints(service, chosen)
        await self._write_slice(service, chosen)

    async def _write_endpoints(self, service: Obj, pods: list[Obj]) -> None:
        meta, subset = service["metadata"], _subset(service, pods)
        subsets = [subset] if pods else []
        known = self.cluster.informer(ENDPOINTS).get(meta["namespace"], meta["name"])
        if known is None:
            fresh = {"name": meta["name"], "namespace": meta["namespace"], "labels": labels_of(service)}
            await self.cluster.create(ENDPOINTS, {"metadata": fresh, "subsets": subsets})
        elif (known.get("subsets") or []) != subsets:
            await self.cluster.modify(ENDPOINTS, known, lambda one: one.update(subsets=subsets))

    async def _write_slice(self, service: Obj, pods: list[Obj]) -> None:
        meta = service["metadata"]
        content = {"endpoints": [_endpoint(service, pod) for pod in pods], "ports": _ports(service, pods)}
        name = f"{meta['name']}-{digest(meta['uid'], 5)}"
        known = self.cluster.informer(ENDPOINT_SLICE).get(meta["namespace"], name)
        if known is None:
            labels = {
                "kubernetes.io/service-name": meta["name"],
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            }
            fresh = {"name": name, "namespace": meta["namespace"], "labels": {**labels_of(service), **labels}}
            fresh["ownerReferences"] = [owner_reference(service)]
            await self.cluster.create(ENDPOINT_SLICE, {"metadata": fresh, "addressType": "IPv4", **content})
        else:
            await self.cluster.modify(ENDPOINT_SLICE, known, lambda one: one.update(content))

    async def _drop_endpoints(self, key: Key) -> None:
        known = self.cluster.informer(ENDPOINTS).get(*key)
        if known:
            await self.cluster.delete(ENDPOINTS, known)


def _add_finalizer(service: Obj) -> None:
    held = service["metadata"].get("finalizers") or []
    service["metadata"]["finalizers"] = [*held, *([] if CLEANUP in held else [CLEANUP])]


def _drop_finalizer(service: Obj) -> None:
    held = service["metadata"].get("finalizers") or []
    service["metadata"]["finalizers"] = [one for one in held if one != CLEANUP]


def _selects(service: Obj, pod: Obj) -> bool:
    selector, labels = service["spec"].get("selector") or {}, labels_of(pod)
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _has_address(pod: Obj) -> bool:
    return bool((pod.get("status") or {}).get("podIP")) and not is_finished(pod) and not is_deleting(pod)


def _as_target(pod: Obj) -> tuple[object, ...]:
    return labels_of(pod), (pod.get("status") or {}).get("podIP"), is_ready(pod), is_finished(pod), is_deleting(pod)


def _serves(service: Obj, pod: Obj) -> bool:
    return is_ready(pod) or bool(service["spec"].get("publishNotReadyAddresses"))


def _target(pod: Obj) -> Obj:
    meta = pod["metadata"]
    return {"kind": "Pod", "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}


def _endpoint(service: Obj, pod: Obj) -> Obj:
    serves = _serves(service, pod)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": serves, "serving": is_ready(pod), "terminating": False},
        "nodeName": pod["spec"]["nodeName"],
        "targetRef": _target(pod),
    }


def _subset(service: Obj, pods: Iterable[Obj]) -> Obj:
    subset: Obj = {"ports": _ports(service, list(pods))}
    for pod in pods:
        address = {"ip": pod["status"]["podIP"], "nodeName": pod["spec"]["nodeName"], "targetRef": _target(pod)}
        subset.setdefault("addresses" if _serves(service, pod) else "notReadyAddresses", []).append(address)
    return {name: value for name, value in subset.items() if value}


def _ports(service: Obj, pods: list[Obj]) -> list[Obj]:
    result = []
    for port in service["spec"].get("ports") or []:
        target = port.get("targetPort", port["port"])
        number = target if isinstance(target, int) else _named_port(target, pods)
        if number:
            name = {"name": port["name"]} if port.get("name") else {}
            result.append({**name, "port": number, "protocol": port.get("protocol", "TCP")})
    return result


def _named_port(name: str, pods: list[Obj]) -> int | None:
    containers = (one for pod in pods for one in pod["spec"]["containers"])
    ports = (port for container in containers for port in container.get("ports") or [])
    return next((int(port["containerPort"]) for port in ports if port.get("name") == name), None)
