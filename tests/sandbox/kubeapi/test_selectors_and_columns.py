"""Selectors, printer columns' paths, unknown fields of built-in kinds, protobuf bodies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clusterctl.sandbox.kube.api import protobuf
from clusterctl.sandbox.kube.api.columns import COLUMNS, age
from clusterctl.sandbox.kube.api.errors import StatusError
from clusterctl.sandbox.kube.api.jsonpath import values_at
from clusterctl.sandbox.kube.api.selectors import field_test, label_test, selector_matches
from clusterctl.sandbox.kube.api.strictness import unknown_builtin_fields

LABELS = {"app": "web", "tier": "gold"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,tier!=gold", False),
        ("app in (db, web)", True),
        ("tier notin (tin),app", True),
        ("!app", False),
        ("!zone", True),
        ("zone!=a", True),
        ("zone notin (a,b)", True),
    ],
)
def test_a_label_selector_matches_what_kubernetes_would(selector: str, matches: bool) -> None:  # noqa: FBT001
    assert label_test(selector)(LABELS) is matches


def test_a_selector_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(StatusError, match="unable to parse requirement"):
        label_test("a > b")


def test_selector_objects_match_all_when_empty_and_nothing_when_absent() -> None:
    assert selector_matches({}, LABELS)
    assert not selector_matches(None, LABELS)
    expression = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
    assert selector_matches(expression, LABELS)


def test_field_selectors_reach_any_field() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "hostNetwork": True}}
    assert field_test("spec.nodeName=n,metadata.name!=q,spec.hostNetwork=true")(pod)
    assert field_test("status.phase=")(pod)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.a", [1]),
        (".status.conditions[?(@.type=='Ready')].status", ["True"]),
        (".metadata.labels.example\\.com/name", ["x"]),
        (".metadata.labels['example.com/name']", ["x"]),
        (".spec.list[1]", ["b"]),
        (".spec.list[*]", ["a", "b"]),
        (".spec.none.deeper", []),
    ],
)
def test_printer_columns_find_their_values(path: str, found: list[Any]) -> None:
    obj = {
        "metadata": {"labels": {"example.com/name": "x"}},
        "spec": {"a": 1, "list": ["a", "b"]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert values_at(obj, path) == found


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0s"), (119, "119s"), (150, "2m30s"), (7200, "120m"), (86400, "24h"), (864000, "10d")]
)
def test_ages_look_as_kubectl_shows_them(seconds: int, shown: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert age((now - timedelta(seconds=seconds)).isoformat(), now) == shown


def test_a_pod_shows_why_it_does_not_run() -> None:
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 4}
    pod = {"metadata": {}, "spec": {"containers": [{}]}, "status": {"containerStatuses": [waiting]}}
    ready, status, restarts, *_ = COLUMNS["Pod"].cells(pod, datetime.now(UTC))
    assert (ready, status, restarts) == ("0/1", "CrashLoopBackOff", "4")


def test_a_typo_deep_in_a_workload_is_found() -> None:
    container = {"name": "c", "image": "i", "resource": {}, "ports": [{"containerport": 1}]}
    pod = {"spec": {"containers": [container], "tolerations": [{"Key": "x"}]}}
    found = unknown_builtin_fields("Deployment", {"spec": {"template": pod}, "spce": {}})
    assert sorted(found) == [
        "spce",
        "spec.template.spec.containers[0].ports[0].containerport",
        "spec.template.spec.containers[0].resource",
        "spec.template.spec.tolerations[0].Key",
    ]


def test_kinds_that_are_not_known_field_by_field_are_not_judged() -> None:
    assert unknown_builtin_fields("PriorityLevel", {"anything": 1}) == []


def varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def envelope(kind: str, raw: bytes, version: str = "v1") -> bytes:
    return b"k8s\x00" + field(1, field(1, version.encode()) + field(2, kind.encode())) + field(2, raw)


def test_a_secret_arrives_by_protobuf_as_helm_sends_it() -> None:
    metadata = field(1, b"s") + field(11, field(1, b"owner") + field(2, b"helm"))
    raw = field(1, metadata) + field(2, field(1, b"release") + field(2, b"\x00\xff")) + field(3, b"helm.sh/release.v1")
    assert protobuf.decode(envelope("Secret", raw)) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "labels": {"owner": "helm"}},
        "data": {"release": "AP8="},
        "type": "helm.sh/release.v1",
    }


def test_protobuf_tells_percentages_from_numbers_and_zero_from_absent() -> None:
    budget = field(1, field(1, field(1, 1) + field(3, b"50%")) + field(3, field(2, 2)))
    decoded = protobuf.decode(envelope("PodDisruptionBudget", field(2, budget[2:]), "policy/v1"))
    assert decoded["spec"] == {"minAvailable": "50%", "maxUnavailable": 2}
    scaled = protobuf.decode(envelope("Deployment", field(2, field(1, 0) + field(5, 0)), "apps/v1"))
    assert scaled["spec"] == {"replicas": 0}


def test_a_kind_that_is_not_in_the_table_is_an_unsupported_media_type() -> None:
    with pytest.raises(StatusError) as refusal:
        protobuf.decode(envelope("Lease", b""))
    assert refusal.value.code == 415
