"""Which resources exist: the built-in ones from a table, custom ones from their definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.sandbox.kube.api.objects import Object, StorageKey

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
POD_SUBRESOURCES = "status,log,exec,attach,portforward,binding,eviction,ephemeralcontainers,resize"

# group | version | plural | Kind | short names | Namespaced or Cluster | subresources | categories
_TABLE = f"""
|v1|configmaps|ConfigMap|cm|N||
|v1|endpoints|Endpoints|ep|N||
|v1|events|Event|ev|N||
|v1|limitranges|LimitRange|limits|N||
|v1|namespaces|Namespace|ns|C|status,finalize|
|v1|nodes|Node|no|C|status|
|v1|persistentvolumeclaims|PersistentVolumeClaim|pvc|N|status|
|v1|persistentvolumes|PersistentVolume|pv|C|status|
|v1|pods|Pod|po|N|{POD_SUBRESOURCES}|all
|v1|podtemplates|PodTemplate||N||
|v1|replicationcontrollers|ReplicationController|rc|N|status,scale|all
|v1|resourcequotas|ResourceQuota|quota|N|status|
|v1|secrets|Secret||N||
|v1|serviceaccounts|ServiceAccount|sa|N|token|
|v1|services|Service|svc|N|status|all
apps|v1|controllerrevisions|ControllerRevision||N||
apps|v1|daemonsets|DaemonSet|ds|N|status|all
apps|v1|deployments|Deployment|deploy|N|status,scale|all
apps|v1|replicasets|ReplicaSet|rs|N|status,scale|all
apps|v1|statefulsets|StatefulSet|sts|N|status,scale|all
batch|v1|cronjobs|CronJob|cj|N|status|all
batch|v1|jobs|Job||N|status|all
autoscaling|v2|horizontalpodautoscalers|HorizontalPodAutoscaler|hpa|N|status|all
autoscaling|v1|horizontalpodautoscalers|HorizontalPodAutoscaler|hpa|N|status|all
policy|v1|poddisruptionbudgets|PodDisruptionBudget|pdb|N|status|
networking.k8s.io|v1|ingresses|Ingress|ing|N|status|
networking.k8s.io|v1|ingressclasses|IngressClass||C||
networking.k8s.io|v1|networkpolicies|NetworkPolicy|netpol|N||
rbac.authorization.k8s.io|v1|roles|Role||N||
rbac.authorization.k8s.io|v1|rolebindings|RoleBinding||N||
rbac.authorization.k8s.io|v1|clusterroles|ClusterRole||C||
rbac.authorization.k8s.io|v1|clusterrolebindings|ClusterRoleBinding||C||
storage.k8s.io|v1|storageclasses|StorageClass|sc|C||
storage.k8s.io|v1|csidrivers|CSIDriver||C||
storage.k8s.io|v1|csinodes|CSINode||C||
storage.k8s.io|v1|csistoragecapacities|CSIStorageCapacity||N||
storage.k8s.io|v1|volumeattachments|VolumeAttachment||C|status|
scheduling.k8s.io|v1|priorityclasses|PriorityClass|pc|C||
coordination.k8s.io|v1|leases|Lease||N||
discovery.k8s.io|v1|endpointslices|EndpointSlice||N||
node.k8s.io|v1|runtimeclasses|RuntimeClass||C||
certificates.k8s.io|v1|certificatesigningrequests|CertificateSigningRequest|csr|C|status,approval|
resource.k8s.io|v1|deviceclasses|DeviceClass||C||
resource.k8s.io|v1|resourceclaims|ResourceClaim||N|status|
resource.k8s.io|v1|resourceclaimtemplates|ResourceClaimTemplate||N||
resource.k8s.io|v1|resourceslices|ResourceSlice||C||
admissionregistration.k8s.io|v1|validatingwebhookconfigurations|ValidatingWebhookConfiguration||C||
admissionregistration.k8s.io|v1|mutatingwebhookconfigurations|MutatingWebhookConfiguration||C||
admissionregistration.k8s.io|v1|validatingadmissionpolicies|ValidatingAdmissionPolicy||C|status|
admissionregistration.k8s.io|v1|validatingadmissionpolicybindings|ValidatingAdmissionPolicyBinding||C||
apiextensions.k8s.io|v1|customresourcedefinitions|CustomResourceDefinition|crd,crds|C|status|api-extensions
apiregistration.k8s.io|v1|apiservices|APIService||C|status|api-extensions
authorization.k8s.io|v1|selfsubjectaccessreviews|SelfSubjectAccessReview||C||
authorization.k8s.io|v1|selfsubjectrulesreviews|SelfSubjectRulesReview||C||
authorization.k8s.io|v1|subjectaccessreviews|SubjectAccessReview||C||
authentication.k8s.io|v1|selfsubjectreviews|SelfSubjectReview||C||
authentication.k8s.io|v1|tokenreviews|TokenReview||C||
"""

NAMESPACES: StorageKey = ("", "namespaces")
PODS: StorageKey = ("", "pods")
CRDS: StorageKey = ("apiextensions.k8s.io", "customresourcedefinitions")
_GENERATIONS = frozenset(
    ["apps", "batch", "networking.k8s.io", "policy", "apiextensions.k8s.io", "admissionregistration.k8s.io"]
)


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One resource in one version; `definition` is the CRD's entry for that version, None for built-ins."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""
    list_kind: str = ""
    definition: Object | None = None
    verbs: tuple[str, ...] = ALL_VERBS

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage(self) -> StorageKey:
        """Versions of one resource share their objects."""
        return (self.group, self.plural)

    @property
    def qualified_name(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def counts_generations(self) -> bool:
        return self.definition is not None or self.group in _GENERATIONS or self.storage == PODS

    @property
    def schema(self) -> Object:
        """The structural schema of a custom resource; empty for built-ins."""
        return ((self.definition or {}).get("schema") or {}).get("openAPIV3Schema") or {}


Groups = dict[str, dict[str, list[Resource]]]


@dataclass(slots=True)
class Registry:
    """The resources a server knows at this moment."""

    _known: dict[tuple[str, str, str], Resource] = field(default_factory=dict)
    _groups: Groups | None = None

    @classmethod
    def builtin(cls) -> Registry:
        registry = cls()
        for line in _TABLE.split():
            registry._add(_parse(line))
        return registry

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._known.get((group, version, plural))

    def builtin_kind(self, plural: str, group: str = "", version: str = "v1") -> Resource:
        return self._known[group, version, plural]

    def of_storage(self, storage: StorageKey) -> Resource | None:
        """Any version of what is stored there."""
        return next((r for r in self._known.values() if r.storage == storage), None)

    def groups(self) -> Groups:
        """Group -> version -> resources, in the order they became known."""
        if self._groups is None:
            self._groups = {}
            for resource in self._known.values():
                self._groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
        return self._groups

    def serve(self, crd: Object) -> None:
        """Serve a custom resource as its definition says now."""
        self.stop_serving(crd)
        for resource in _custom(crd):
            self._add(resource)

    def stop_serving(self, crd: Object) -> None:
        storage = (crd["spec"]["group"], crd["spec"]["names"]["plural"])
        self._known = {key: r for key, r in self._known.items() if r.definition is None or r.storage != storage}
        self._groups = None

    def _add(self, resource: Resource) -> None:
        self._known[resource.group, resource.version, resource.plural] = resource
        self._groups = None


def _parse(line: str) -> Resource:
    group, version, plural, kind, short, scope, subresources, categories = line.split("|")
    return Resource(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        namespaced=scope == "N",
        short_names=_words(short),
        subresources=_words(subresources),
        categories=_words(categories),
        singular=kind.lower(),
        list_kind=f"{kind}List",
        verbs=("create",) if plural.endswith("reviews") else ALL_VERBS,
    )


def _custom(crd: Object) -> Iterator[Resource]:
    spec: dict[str, Any] = crd["spec"]
    names = spec["names"]
    for version in _by_priority(spec["versions"]):
        if version.get("served"):
            offered = version.get("subresources") or {}
            yield Resource(
                group=spec["group"],
                version=version["name"],
                plural=names["plural"],
                kind=names["kind"],
                namespaced=spec["scope"] == "Namespaced",
                short_names=tuple(names.get("shortNames") or ()),
                subresources=tuple(s for s in ("status", "scale") if s in offered),
                categories=tuple(names.get("categories") or ()),
                singular=names.get("singular") or names["kind"].lower(),
                list_kind=names.get("listKind") or f"{names['kind']}List",
                definition=version,
            )


def _by_priority(versions: list[Object]) -> list[Object]:
    """The version that clients should prefer comes first: v2 before v1 before v1beta1 before v1alpha1."""

    def rank(version: Object) -> tuple[bool, bool, bool, str]:
        name = version["name"]
        stable = "alpha" not in name and "beta" not in name
        return (stable, "beta" in name, "alpha" in name, name)

    return sorted(versions, key=rank, reverse=True)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)
