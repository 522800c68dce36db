"""What is there before anybody asks: in a new cluster, and in every new namespace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.api.resources import NAMESPACES

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.lifecycle import Lifecycle
    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Registry
    from clusterctl.sandbox.kube.api.store import Change

_SYSTEM_NAMESPACES = ("kube-system", "default", "kube-public", "kube-node-lease")
_EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
_CLUSTER_ROLES = ("admin", "cluster-admin", "edit", "view")
_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_GP2: Object = {  # EKS makes it, since 1.30 without the annotation that would make it the default
    "metadata": {"name": "gp2"},
    "provisioner": "kubernetes.io/aws-ebs",
    "parameters": {"type": "gp2", "fsType": "ext4"},
    "volumeBindingMode": "WaitForFirstConsumer",
}
_API_SERVICE: Object = {
    "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
    "spec": {"clusterIP": "10.100.0.1", "ports": [{"name": "https", "port": 443, "targetPort": 443}]},
}


def bootstrap(lifecycle: Lifecycle) -> None:
    """Fill an empty store."""
    find = lifecycle.registry.builtin_kind
    for name in _SYSTEM_NAMESPACES:
        lifecycle.create(find("namespaces"), None, {"metadata": {"name": name}})
    lifecycle.create(find("services"), "default", _API_SERVICE)
    lifecycle.create(find("storageclasses", "storage.k8s.io"), None, _GP2)
    for name, value in _PRIORITIES.items():
        priority = {"metadata": {"name": name}, "value": value, "globalDefault": False}
        lifecycle.create(find("priorityclasses", "scheduling.k8s.io"), None, priority)
    for name in _CLUSTER_ROLES:
        role = {"metadata": {"name": name}, "rules": _EVERYTHING}
        lifecycle.create(find("clusterroles", "rbac.authorization.k8s.io"), None, role)


@dataclass(frozen=True, slots=True)
class NamespaceContents:
    """Gives every new namespace its default service account and the certificate authority."""

    registry: Registry
    lifecycle: Lifecycle
    certificate_authority: str

    def on_change(self, change: Change) -> None:
        if change.storage != NAMESPACES or change.old is not None or change.new is None:
            return
        name = change.new["metadata"]["name"]
        account = {"metadata": {"name": "default"}}
        bundle = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": self.certificate_authority}}
        self.lifecycle.create(self.registry.builtin_kind("serviceaccounts"), name, account)
        self.lifecycle.create(self.registry.builtin_kind("configmaps"), name, bundle)
