"""Merge, strategic merge and ordering: laws first, then what kubectl relies on."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusterctl.sandbox.kube.api.patching.merge import merge_patch
from clusterctl.sandbox.kube.api.patching.ordering import applied_order, patched_order
from clusterctl.sandbox.kube.api.patching.strategic import strategic_merge
from clusterctl.sandbox.kube.api.patching.structure import BuiltinStructure

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
names = st.sampled_from("abcd")
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=12
)
maps = st.dictionaries(names, documents, max_size=4)
unique = st.lists(st.integers(0, 9), unique=True, max_size=8)
DEPLOYMENT = BuiltinStructure("Deployment")


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


@given(maps, maps)
def test_a_merge_patch_applied_twice_is_applied_once(current: Any, patch: Any) -> None:
    once = merge_patch(current, patch)
    assert merge_patch(once, patch) == once


@given(maps, maps)
def test_a_merge_patch_changes_neither_argument(current: Any, patch: Any) -> None:
    before = copy.deepcopy((current, patch))
    merge_patch(current, patch)
    assert (current, patch) == before


@given(maps)
def test_a_merge_patch_onto_nothing_is_the_patch_without_its_removals(patch: Any) -> None:
    assert merge_patch({}, patch) == without_nulls(patch)


@given(unique, unique)
def test_applied_items_keep_the_order_in_which_they_are_applied(live: list[int], applied: list[int]) -> None:
    order = applied_order(live, applied)
    assert sorted(order) == sorted({*live, *applied})
    assert [key for key in order if key in applied] == applied
    assert [key for key in order if key not in applied] == [key for key in live if key not in applied]


@given(unique)
def test_the_same_list_applied_again_stays_as_it_is(keys: list[int]) -> None:
    assert applied_order(keys, keys) == keys


def test_an_item_that_only_the_server_has_keeps_its_place() -> None:
    assert applied_order(["a", "x", "b"], ["a", "b"]) == ["a", "x", "b"]
    assert applied_order(["a", "b", "c"], ["c", "a"]) == ["b", "c", "a"]


@given(unique, unique)
def test_patched_items_come_in_the_patchs_order(live: list[int], ordered: list[int]) -> None:
    unlisted = [key for key in live if key not in ordered]
    order = patched_order(live, ordered, unlisted)
    assert [key for key in order if key in ordered] == ordered
    assert [key for key in order if key in unlisted] == unlisted


def containers(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"containers": [{"name": name, "image": image} for name, image in pairs]}


def test_a_strategic_patch_finds_a_container_by_name() -> None:
    current = containers(("web", "nginx:1"), ("side", "envoy:1"))
    patched = strategic_merge(current, containers(("side", "envoy:2")), DEPLOYMENT)
    assert {c["name"]: c["image"] for c in patched["containers"]} == {"web": "nginx:1", "side": "envoy:2"}


def test_a_strategic_patch_deletes_by_directive_and_orders_by_directive() -> None:
    current = containers(("a", "1"), ("b", "1"), ("c", "1"))
    patch = {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
        "containers": [{"name": "b", "$patch": "delete"}],
    }
    assert [c["name"] for c in strategic_merge(current, patch, DEPLOYMENT)["containers"]] == ["c", "a"]


def test_a_strategic_patch_replaces_lists_without_keys() -> None:
    patched = strategic_merge({"args": ["-a"]}, {"args": ["-b"]}, DEPLOYMENT)
    assert patched["args"] == ["-b"]


def test_primitive_lists_merge_and_lose_what_the_patch_names() -> None:
    current = {"finalizers": ["a", "b"]}
    patch = {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}
    assert sorted(strategic_merge(current, patch, DEPLOYMENT)["finalizers"]) == ["b", "c"]


def test_retained_keys_drop_the_others() -> None:
    current = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert strategic_merge(current, patch, DEPLOYMENT)["strategy"] == {"type": "Recreate"}
