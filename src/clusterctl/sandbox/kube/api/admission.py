"""Admission webhooks: who would be called, and the refusal when nobody can answer.

No webhook is called, as its pods are simulated; one whose service has ready endpoints agrees. What hurts is kept:
a fail-closed webhook without ready endpoints, or whose authority nobody has written yet, refuses what it covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.api.errors import StatusError, internal
from clusterctl.sandbox.kube.api.objects import labels_of
from clusterctl.sandbox.kube.api.resources import NAMESPACES
from clusterctl.sandbox.kube.api.selectors import selector_matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Resource
    from clusterctl.sandbox.kube.api.store import Store

_GROUP = "admissionregistration.k8s.io"
UNTRUSTED = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
_CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


@dataclass(frozen=True, slots=True)
class Admission:
    """Decides by what is in the store at the moment of the write."""

    store: Store

    def check(self, operation: str, resource: Resource, obj: Object, subresource: str = "") -> None:
        """Raises the 500 of a webhook that cannot be reached; `operation` is CREATE, UPDATE or DELETE."""
        if resource.group == _GROUP:
            return
        for webhook in self._webhooks():
            if self._covers(webhook, operation, resource, obj, subresource) and webhook["failurePolicy"] == "Fail":
                self._call(webhook)

    def _webhooks(self) -> Iterator[Object]:
        for plural in _CONFIGURATIONS:
            for configuration in self.store.select((_GROUP, plural)):
                yield from configuration.get("webhooks") or []

    def _covers(self, webhook: Object, operation: str, resource: Resource, obj: Object, subresource: str) -> bool:
        target = f"{resource.plural}/{subresource}" if subresource else resource.plural
        return (
            any(_rule_covers(rule, operation, resource, target) for rule in webhook.get("rules") or [])
            and selector_matches(webhook.get("objectSelector") or {}, labels_of(obj))
            and self._namespace_matches(webhook.get("namespaceSelector") or {}, resource, obj)
        )

    def _namespace_matches(self, selector: Object, resource: Resource, obj: Object) -> bool:
        name = obj["metadata"].get("namespace")
        if resource.storage == NAMESPACES:
            return selector_matches(selector, labels_of(obj))
        if name is None:
            return True
        namespace = self.store.find(NAMESPACES, None, name)
        return namespace is not None and selector_matches(selector, labels_of(namespace))

    def _call(self, webhook: Object) -> None:
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is None:
            return
        namespace, name = service["namespace"], service["name"]
        if self.store.find(("", "services"), namespace, name) is None:
            raise _failed(webhook, service, f'service "{name}" not found')
        if not self._has_ready_endpoint(namespace, name):
            raise _failed(webhook, service, f'no endpoints available for service "{name}"')
        if not webhook["clientConfig"].get("caBundle"):
            raise _failed(webhook, service, UNTRUSTED)

    def _has_ready_endpoint(self, namespace: str, service: str) -> bool:
        endpoints = self.store.find(("", "endpoints"), namespace, service) or {}
        if any(subset.get("addresses") for subset in endpoints.get("subsets") or []):
            return True
        slices = self.store.select(("discovery.k8s.io", "endpointslices"), namespace)
        return any(
            (endpoint.get("conditions") or {}).get("ready", True)
            for one in slices
            if labels_of(one).get("kubernetes.io/service-name") == service
            for endpoint in one.get("endpoints") or []
        )


def _rule_covers(rule: Object, operation: str, resource: Resource, target: str) -> bool:
    scope = rule.get("scope", "*")
    names = {target, "*/*"} | (set() if "/" in target else {"*"})
    if "/" in target:
        names |= {f"{resource.plural}/*", f"*/{target.partition('/')[2]}"}
    return (
        bool({operation, "*"} & set(rule.get("operations") or ()))
        and bool({resource.group, "*"} & set(rule.get("apiGroups") or ()))
        and bool({resource.version, "*"} & set(rule.get("apiVersions") or ()))
        and bool(names & set(rule.get("resources") or ()))
        and scope in {"*", "Namespaced" if resource.namespaced else "Cluster"}
    )


def _failed(webhook: Object, service: Object, why: str) -> StatusError:
    path = "/" + (service.get("path") or "").lstrip("/")
    host = f"{service['name']}.{service['namespace']}.svc:{service.get('port', 443)}"
    url = f"https://{host}{path}?timeout={webhook.get('timeoutSeconds', 10)}s"
    return internal(f'failed calling webhook "{webhook["name"]}": failed to call webhook: Post "{url}": {why}')
