"""Server-side apply: what one manager owns, what it may take, what it leaves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.sandbox.kube.api.patching.apply import Apply, ApplyConflictError, Manager, managed_after
from clusterctl.sandbox.kube.api.patching.fields import decode, describe, encode, owned_fields
from clusterctl.sandbox.kube.api.patching.structure import BuiltinStructure, CustomStructure, ListRule

DEPLOYMENT = BuiltinStructure("Deployment")
HELM = Manager("helm", "Apply", "apps/v1")
KUBECTL = Manager("kubectl", "Apply", "apps/v1")
EDITOR = Manager("kubectl-set", "Update", "apps/v1")
values = st.integers(0, 3) | st.text("xy", max_size=2)
container = st.fixed_dictionaries(
    {"name": st.sampled_from("abc")},
    optional={"image": values, "args": st.lists(values, max_size=2), "env": st.just([{"name": "E", "value": "1"}])},
)
containers = st.lists(container, max_size=3, unique_by=lambda c: c["name"])
configs = st.fixed_dictionaries(
    {"spec": st.fixed_dictionaries({}, optional={"replicas": values, "containers": containers})},
    optional={"data": st.dictionaries(st.sampled_from("kl"), values, max_size=2)},
)


def apply(live: Any, config: Any, who: Manager = HELM, *, force: bool = False) -> Any:
    return Apply(who, DEPLOYMENT, "2026-01-01T00:00:00Z", force).to(live, config)


def fields(obj: Any) -> Any:
    return {name: value for name, value in obj.items() if name != "metadata"}


@given(configs)
def test_applying_twice_finds_nothing_to_do(config: Any) -> None:
    once = apply({}, config)
    assert apply(once, config) == once


def said(obj: Any) -> dict[tuple[str, ...], Any]:
    """The fields of an object that hold something."""
    return {path: value for path, value in owned_fields(obj, DEPLOYMENT).items() if value not in ({}, [])}


@given(configs, configs)
def test_what_a_sole_manager_no_longer_applies_is_gone(first: Any, second: Any) -> None:
    assert said(apply(apply({}, first), second)) == said(second)


@given(configs, configs)
def test_a_forced_apply_leaves_its_own_values(theirs: Any, ours: Any) -> None:
    after = apply(apply({}, theirs, KUBECTL), ours, force=True)
    assert said(ours).items() <= said(after).items()


@given(configs)
def test_fields_survive_their_encoding(config: Any) -> None:
    paths = set(owned_fields(config, DEPLOYMENT))
    assert decode(encode(paths)) == paths


def test_a_field_of_another_manager_conflicts_and_is_named() -> None:
    live = apply({}, {"spec": {"containers": [{"name": "c", "image": "nginx:1"}]}})
    changed = {**live, "spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}
    changed["metadata"] = {**live["metadata"], "managedFields": managed_after(live, changed, DEPLOYMENT, EDITOR, "t")}
    with pytest.raises(ApplyConflictError) as refusal:
        apply(changed, {"spec": {"containers": [{"name": "c", "image": "nginx:3"}]}})
    (conflict,) = refusal.value.conflicts
    assert conflict.field == '.spec.containers[name="c"].image'
    assert conflict.manager.described() == '"kubectl-set" using apps/v1'


def test_equal_values_are_shared_without_conflict() -> None:
    live = apply({}, {"spec": {"replicas": 2}})
    shared = apply(live, {"spec": {"replicas": 2}}, KUBECTL)
    owners = [entry["manager"] for entry in shared["metadata"]["managedFields"]]
    assert owners == ["helm", "kubectl"]
    assert fields(apply(shared, {"spec": {}})) == {"spec": {"replicas": 2}}


def test_an_item_stays_while_another_manager_owns_a_field_in_it() -> None:
    live = apply({}, {"spec": {"containers": [{"name": "c", "image": "nginx:1", "args": ["-a"]}]}})
    changed = {**live, "spec": {"containers": [{"name": "c", "image": "nginx:2", "args": ["-a"]}]}}
    changed["metadata"] = {**live["metadata"], "managedFields": managed_after(live, changed, DEPLOYMENT, EDITOR, "t")}
    left = apply(changed, {"spec": {"replicas": 1}})
    assert left["spec"] == {"replicas": 1, "containers": [{"name": "c", "image": "nginx:2"}]}


def test_an_update_takes_over_the_fields_that_it_changes() -> None:
    live = apply({}, {"spec": {"replicas": 2, "paused": True}})
    entries = managed_after(live, {**live, "spec": {"replicas": 3, "paused": True}}, DEPLOYMENT, EDITOR, "t")
    owned = {entry["manager"]: {describe(path) for path in decode(entry["fieldsV1"])} for entry in entries}
    assert owned == {"helm": {".spec.paused"}, "kubectl-set": {".spec.replicas"}}


def test_custom_lists_are_atomic_unless_their_schema_says_map() -> None:
    plain = {"properties": {"groups": {"type": "array", "items": {"type": "object"}}}}
    keyed = {
        "properties": {
            "groups": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"properties": {"name": {"default": "main"}}},
            }
        }
    }
    assert CustomStructure(plain).child("groups").list_rule == ListRule("atomic")
    rule = CustomStructure(keyed).child("groups").list_rule
    assert rule.key_of({}) == ("main",)
