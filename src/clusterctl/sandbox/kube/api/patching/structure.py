"""How the lists and maps of a kind merge: from a table for built-in kinds, from the schema for custom ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Resource

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ListRule:
    """Whether a list is replaced whole, is a set of values, or a map of items known by their `keys`."""

    kind: Literal["atomic", "set", "map"]
    keys: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def key_of(self, item: Any) -> Key:
        """What identifies an item: the value itself in a set, the values of its keys in a map."""
        if self.kind != "map":
            return (item,)
        return tuple(item.get(key, self.defaults.get(key)) for key in self.keys)

    def associates(self, *lists: list[Any]) -> bool:
        """Whether all these items can be told apart by key."""
        if self.kind == "map":
            return all(isinstance(item, dict) for items in lists for item in items)
        return self.kind == "set" and all(_is_plain(item) for items in lists for item in items)


class Structure(Protocol):
    """What is known of one field of a kind."""

    def child(self, name: str) -> Structure: ...

    @property
    def item(self) -> Structure: ...

    @property
    def list_rule(self) -> ListRule: ...

    @property
    def atomic_map(self) -> bool: ...


def structure_of(resource: Resource) -> Structure:
    if resource.definition is None:
        return BuiltinStructure(resource.kind)
    return CustomStructure(resource.schema, root=True)


ATOMIC = ListRule("atomic")
SET = ListRule("set")
_PROTOCOL = {"protocol": "TCP"}
_BY_NAME = ListRule("map", ("name",))

# Lists whose items have keys; the first is the one that strategic merge patch goes by.
_MAPS = {
    **dict.fromkeys(
        [
            "claims", "containers", "env", "ephemeralContainers", "imagePullSecrets", "initContainers",
            "matchConditions", "resourceClaims", "schedulingGates", "secrets", "volumes", "webhooks",
        ],
        _BY_NAME,
    ),
    "conditions": ListRule("map", ("type",)),
    "hostAliases": ListRule("map", ("ip",)),
    "hostIPs": ListRule("map", ("ip",)),
    "ownerReferences": ListRule("map", ("uid",)),
    "podIPs": ListRule("map", ("ip",)),
    "topologySpreadConstraints": ListRule("map", ("topologyKey", "whenUnsatisfiable")),
    "volumeDevices": ListRule("map", ("devicePath",)),
    "volumeMounts": ListRule("map", ("mountPath",)),
}  # fmt: skip
_SETS = frozenset(["finalizers", "loadBalancerSourceRanges", "podCIDRs"])
_ATOMIC_MAPS = frozenset(
    [
        "configMapKeyRef", "fieldRef", "labelSelector", "matchLabels", "namespaceSelector", "nodeSelector",
        "objectSelector", "podSelector", "requiredDuringSchedulingIgnoredDuringExecution", "resourceFieldRef",
        "roleRef", "secretKeyRef", "selector",
    ]
)  # fmt: skip
_SERVICE_PORTS = ListRule("map", ("port", "protocol"), _PROTOCOL)
_CONTAINER_PORTS = ListRule("map", ("containerPort", "protocol"), _PROTOCOL)
_KINDS_WITH_ATOMIC_PORTS = frozenset(["Endpoints", "EndpointSlice", "Ingress", "NetworkPolicy"])


@dataclass(frozen=True, slots=True)
class BuiltinStructure:
    """A built-in kind: field names tell enough, as they are used alike everywhere."""

    kind: str
    name: str = ""

    def child(self, name: str) -> BuiltinStructure:
        return BuiltinStructure(self.kind, name)

    @property
    def item(self) -> BuiltinStructure:
        return BuiltinStructure(self.kind)

    @property
    def list_rule(self) -> ListRule:
        if self.name == "ports":
            return self._ports()
        if self.name == "addresses":
            return ListRule("map", ("type",)) if self.kind == "Node" else ATOMIC
        return _MAPS.get(self.name) or (SET if self.name in _SETS else ATOMIC)

    @property
    def atomic_map(self) -> bool:
        return self.name in _ATOMIC_MAPS

    def _ports(self) -> ListRule:
        if self.kind in _KINDS_WITH_ATOMIC_PORTS:
            return ATOMIC
        return _SERVICE_PORTS if self.kind == "Service" else _CONTAINER_PORTS


@dataclass(frozen=True, slots=True)
class CustomStructure:
    """A custom kind: the schema's x-kubernetes-list-type and x-kubernetes-map-type."""

    schema: Object
    root: bool = False

    def child(self, name: str) -> Structure:
        if self.root and name == "metadata":
            return BuiltinStructure("")
        found = (self.schema.get("properties") or {}).get(name)
        if found is None and isinstance(self.schema.get("additionalProperties"), dict):
            found = self.schema["additionalProperties"]
        return CustomStructure(found or {})

    @property
    def item(self) -> CustomStructure:
        return CustomStructure(self.schema.get("items") or {})

    @property
    def list_rule(self) -> ListRule:
        kind = self.schema.get("x-kubernetes-list-type", "atomic")
        keys = tuple(self.schema.get("x-kubernetes-list-map-keys") or ())
        properties = (self.schema.get("items") or {}).get("properties") or {}
        defaults = {key: properties[key]["default"] for key in keys if "default" in properties.get(key, {})}
        return ListRule(kind, keys, defaults)

    @property
    def atomic_map(self) -> bool:
        return bool(self.schema.get("x-kubernetes-map-type") == "atomic")


def _is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list)
