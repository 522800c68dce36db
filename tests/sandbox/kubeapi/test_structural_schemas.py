"""Custom resources: pruned, defaulted and validated by their schema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.sandbox.kube.api.schema import settle, unknown_fields, violations

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 8},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "label": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                "port": {"x-kubernetes-int-or-string": True},
                "ratio": {"type": "number", "nullable": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "byName": {"type": "object", "additionalProperties": {"type": "integer"}},
                "groups": {
                    "type": "array",
                    "maxItems": 2,
                    "items": {"type": "object", "properties": {"replicas": {"type": "integer", "default": 1}}},
                },
                "either": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
            },
        }
    },
}


def of(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "e/v1", "kind": "W", "metadata": {"name": "w"}, "spec": {"size": 1, **spec}}


def complaints(**spec: Any) -> list[str]:
    return [str(cause) for cause in violations(of(**spec), SCHEMA)]


def test_unknown_fields_are_pruned_and_defaults_filled_in() -> None:
    settled = settle(of(typo=1, groups=[{}], free={"x": {"y": 1}}, byName={"a": 1}), SCHEMA)["spec"]
    assert settled == {
        "size": 1,
        "color": "red",
        "groups": [{"replicas": 1}],
        "free": {"x": {"y": 1}},
        "byName": {"a": 1},
    }


def test_a_null_where_none_is_allowed_counts_as_absent() -> None:
    assert settle(of(color=None, ratio=None), SCHEMA)["spec"] == {"size": 1, "color": "red", "ratio": None}


def test_unknown_fields_are_named_with_their_paths() -> None:
    assert unknown_fields(of(typo=1, groups=[{"replica": 2}], free={"any": 1}), SCHEMA) == [
        "spec.typo",
        "spec.groups[0].replica",
    ]


@given(st.dictionaries(st.sampled_from(["size", "color", "typo", "groups", "free"]), st.none() | st.integers()))
def test_settling_twice_is_settling_once(spec: dict[str, Any]) -> None:
    once = settle({"spec": spec}, SCHEMA)
    assert settle(once, SCHEMA) == once
    assert unknown_fields(once, SCHEMA) == []


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"size": 0}, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ({"size": 9}, "spec.size: Invalid value: 9: spec.size in body should be less than or equal to 8"),
        ({"size": True}, 'spec.size in body must be of type integer: "boolean"'),
        ({"size": "1"}, 'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'),
        ({"color": "green"}, 'spec.color: Unsupported value: "green": supported values: "red", "blue"'),
        ({"label": "A"}, "spec.label in body should match '^[a-z]+$'"),
        ({"label": "abcdef"}, "spec.label: Too long: may not be more than 5 bytes"),
        ({"port": []}, "spec.port in body must be of type integer or string"),
        ({"byName": {"a": "1"}}, "spec.byName.a in body must be of type integer"),
        ({"groups": [{}, {}, {}]}, "spec.groups: Too many: 3: must have at most 2 items"),
        ({"either": {}}, "must validate one and only one schema (oneOf)"),
    ],
)
def test_a_wrong_value_is_named_in_the_servers_words(spec: dict[str, Any], complaint: str) -> None:
    (found,) = complaints(**spec)
    assert complaint in found


def test_right_values_pass() -> None:
    assert complaints(color="blue", label="ab", port="http", ratio=None, byName={"a": 1}, either={"a": 1}) == []


def test_what_is_missing_is_required() -> None:
    assert [str(c) for c in violations({"spec": {}}, SCHEMA)] == ["spec.size: Required value"]
    assert [str(c) for c in violations({}, SCHEMA)] == ["spec: Required value"]
