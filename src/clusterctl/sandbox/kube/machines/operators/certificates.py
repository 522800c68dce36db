"""Who writes certificate authorities into webhooks: cert-manager for those that ask it, others for their own."""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    MUTATING_WEBHOOKS,
    SECRET,
    VALIDATING_WEBHOOKS,
    Key,
    Kind,
    Obj,
    annotations_of,
    condition_is,
    is_deleting,
)

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster

CERTIFICATE = Kind("cert-manager.io", "v1", "certificates", "Certificate")
_FROM_CERTIFICATE = "cert-manager.io/inject-ca-from"
_FROM_SECRET = "cert-manager.io/inject-ca-from-secret"  # noqa: S105 - an annotation
_WEBHOOKS_SECRET = "cert-manager-webhook-ca"  # noqa: S105 - the name of one


@cache
def authority() -> str:
    """A certificate authority, base64 of its PEM: nobody is ever called by it."""
    from clusterctl.sandbox.kube.certificates import Certificates as Pair

    return base64.b64encode(Pair.issue("webhooks").authority.encode()).decode()


class Certificates(Controller):
    """cert-manager's controller: a Secret for every Certificate, and then its condition Ready."""

    kind = CERTIFICATE

    async def reconcile(self, key: Key) -> float | None:
        wanted = self.cluster.informer(CERTIFICATE).get(*key)
        if wanted is None or is_deleting(wanted) or condition_is(wanted, "Ready"):
            return None
        meta = {"name": wanted["spec"]["secretName"], "namespace": key[0]}
        await self.cluster.create(SECRET, {"metadata": meta, "type": "Opaque", "data": {"ca.crt": authority()}})
        words = ("True", "Ready", "Certificate is up to date and has not expired")
        await self.cluster.set_condition(CERTIFICATE, wanted, "Ready", words)
        return None


class WebhookSecret(Controller):
    """cert-manager's webhook makes its own certificate."""

    kind = SECRET

    def __init__(self, cluster: Cluster, me: Key) -> None:
        super().__init__(cluster)
        self._me = me

    def subscribe(self) -> None:
        super().subscribe()
        self.add((self._me[0], _WEBHOOKS_SECRET))

    async def reconcile(self, key: Key) -> float | None:
        if key == (self._me[0], _WEBHOOKS_SECRET) and key not in self.cluster.informer(SECRET):
            meta = {"name": key[1], "namespace": key[0]}
            await self.cluster.create(SECRET, {"metadata": meta, "type": "Opaque", "data": {"ca.crt": authority()}})
        return None


class _Bundles(Controller):
    """Writes the authority into every webhook of a configuration that `concerns` this writer."""

    def concerns(self, configuration: Obj) -> bool:
        raise NotImplementedError

    async def reconcile(self, key: Key) -> float | None:
        configuration = self.cluster.informer(self.kind).get(*key)
        if configuration is None or is_deleting(configuration) or not self.concerns(configuration):
            return None

        def change(fresh: Obj) -> None:
            for webhook in fresh.get("webhooks") or []:
                webhook["clientConfig"]["caBundle"] = authority()

        await self.cluster.modify(self.kind, configuration, change)
        return None


class _Injector(_Bundles):
    """cert-manager's cainjector: from a Secret, or from the Secret of a Certificate that is ready."""

    reads: ClassVar[tuple[Kind, ...]] = (SECRET, CERTIFICATE)

    def subscribe(self) -> None:
        super().subscribe()
        for kind in self.reads:
            self.listen(kind, lambda _, __: self.add_all())

    def concerns(self, configuration: Obj) -> bool:
        asked = annotations_of(configuration)
        if secret := asked.get(_FROM_SECRET):
            return self.cluster.informer(SECRET).get(*secret.split("/", 1)) is not None
        namespace, _, name = asked.get(_FROM_CERTIFICATE, "").partition("/")
        certificate = self.cluster.informer(CERTIFICATE).get(namespace, name)
        return certificate is not None and condition_is(certificate, "Ready")


class _ValidatingInjector(_Injector):
    kind = VALIDATING_WEBHOOKS


class _MutatingInjector(_Injector):
    kind = MUTATING_WEBHOOKS


class _Server(_Bundles):
    """A webhook server that writes its own authority: into the configurations that call a service of its namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster)
        self._namespace = namespace

    def concerns(self, configuration: Obj) -> bool:
        services: list[dict[str, Any]] = [
            one["clientConfig"].get("service") or {} for one in configuration.get("webhooks") or []
        ]
        return any(one.get("namespace") == self._namespace for one in services)


class _ValidatingServer(_Server):
    kind = VALIDATING_WEBHOOKS


class _MutatingServer(_Server):
    kind = MUTATING_WEBHOOKS


def injectors(cluster: Cluster) -> list[Controller]:
    return [_ValidatingInjector(cluster), _MutatingInjector(cluster)]


def servers(cluster: Cluster, namespace: str) -> list[Controller]:
    return [_ValidatingServer(cluster, namespace), _MutatingServer(cluster, namespace)]
