"""Webhooks that fail closed refuse what they cover while nobody answers."""

from __future__ import annotations

from typing import Any

import pytest
from kubeworld import HandTurned

from clusterctl.sandbox.kube.api.errors import StatusError

GROUP = "admissionregistration.k8s.io"


def install(world: HandTurned, **changes: Any) -> None:
    webhook = {
        "name": "check.example.com",
        "clientConfig": {"caBundle": "Y2E=", "service": {"namespace": "hooks", "name": "checker", "path": "/validate"}},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        **changes,
    }
    world.create("namespaces", {"metadata": {"name": "hooks"}})
    service = {"metadata": {"name": "checker"}, "spec": {"ports": [{"port": 443}]}}
    world.create("services", service, "hooks")
    configuration = {"metadata": {"name": "w"}, "webhooks": [webhook]}
    world.create("validatingwebhookconfigurations", configuration, None, GROUP)


def attempt(world: HandTurned, name: str = "c", **metadata: Any) -> Any:
    return world.create("configmaps", {"metadata": {"name": name, **metadata}})


def test_without_a_ready_endpoint_the_write_is_refused_in_the_real_words(world: HandTurned) -> None:
    install(world)
    with pytest.raises(StatusError) as refusal:
        attempt(world)
    assert refusal.value.message == (
        'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: '
        'Post "https://checker.hooks.svc:443/validate?timeout=10s": no endpoints available for service "checker"'
    )
    assert refusal.value.code == 500


def test_with_a_ready_endpoint_it_passes(world: HandTurned) -> None:
    install(world)
    slice_ = {
        "metadata": {"name": "checker-1", "labels": {"kubernetes.io/service-name": "checker"}},
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
    }
    world.create("endpointslices", slice_, "hooks", "discovery.k8s.io")
    assert attempt(world)["metadata"]["uid"]


def test_one_that_fails_open_refuses_nothing(world: HandTurned) -> None:
    install(world, failurePolicy="Ignore")
    assert attempt(world)["metadata"]["uid"]


def test_rules_and_selectors_say_what_is_covered(world: HandTurned) -> None:
    install(world, objectSelector={"matchLabels": {"checked": "yes"}})
    attempt(world)
    world.create("secrets", {"metadata": {"name": "s", "labels": {"checked": "yes"}}})
    with pytest.raises(StatusError, match="failed calling webhook"):
        attempt(world, "d", labels={"checked": "yes"})


def test_a_namespace_can_be_left_out(world: HandTurned) -> None:
    name = "kubernetes.io/metadata.name"
    install(world, namespaceSelector={"matchExpressions": [{"key": name, "operator": "NotIn", "values": ["default"]}]})
    assert attempt(world)["metadata"]["uid"]
