"""What happens to objects: identity, generations, finalizers, owners, namespaces, definitions."""

from __future__ import annotations

from typing import Any

import pytest
from kubeworld import HandTurned

from clusterctl.sandbox.kube.api.errors import StatusError
from clusterctl.sandbox.kube.api.options import DeleteOptions, WriteOptions
from clusterctl.sandbox.kube.api.selectors import object_test
from clusterctl.sandbox.kube.api.store import Watcher

CONFIG = {"metadata": {"name": "c"}, "data": {"a": "1"}}
POD: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "busybox"}]}}


def deployment(**spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": POD["spec"]}
    return {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": pod, **spec},
    }


def definition(**version: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
            ],
        },
    }


def owned_by(owner: Any, kind: str = "ConfigMap") -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {"metadata": {"name": "dependent", "ownerReferences": [reference]}}


def test_an_update_that_changes_nothing_leaves_the_version_alone(world: HandTurned) -> None:
    made = world.create("configmaps", CONFIG)
    resource = world.kind("configmaps")
    options = WriteOptions(manager="someone")
    again = world.core.lifecycle.update(resource, made, {**made, "data": {"a": "1"}}, options)
    assert again is made


def test_a_stale_version_is_refused(world: HandTurned) -> None:
    made = world.create("configmaps", CONFIG)
    stale = {**made, "metadata": {**made["metadata"], "resourceVersion": "1"}, "data": {"a": "2"}}
    with pytest.raises(StatusError, match="the object has been modified"):
        world.core.lifecycle.update(world.kind("configmaps"), made, stale)


def test_a_generation_counts_changes_of_the_specification_alone(world: HandTurned) -> None:
    resource = world.kind("deployments", "apps")
    made = world.core.lifecycle.create(resource, "default", deployment())
    labelled = world.core.lifecycle.update(
        resource, made, {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    )
    scaled = world.core.lifecycle.update(resource, labelled, {**labelled, "spec": {**labelled["spec"], "replicas": 3}})
    status = WriteOptions(subresource="status")
    seen = world.core.lifecycle.update(resource, scaled, {**scaled, "status": {"observedGeneration": 2}}, status)
    assert [o["metadata"]["generation"] for o in (made, labelled, scaled, seen)] == [1, 1, 2, 2]


def test_the_main_endpoint_ignores_status_and_status_ignores_the_rest(world: HandTurned) -> None:
    resource = world.kind("deployments", "apps")
    made = world.core.lifecycle.create(resource, "default", deployment())
    both = {**made, "status": {"replicas": 9}, "spec": {**made["spec"], "replicas": 9}}
    by_main = world.core.lifecycle.update(resource, made, both)
    assert "replicas" not in by_main.get("status", {})
    by_status = world.core.lifecycle.update(resource, made, both, WriteOptions(subresource="status"))
    assert (by_status["status"], by_status["spec"]["replicas"]) == ({"replicas": 9}, 1)


def test_a_rehearsal_is_answered_and_not_stored(world: HandTurned) -> None:
    resource = world.kind("configmaps")
    made = world.core.lifecycle.create(resource, "default", CONFIG, WriteOptions(dry_run=True))
    assert made["metadata"]["uid"]
    assert "c" not in world.names("configmaps", "default")


def test_a_finalizer_holds_an_object_until_it_is_taken_off(world: HandTurned) -> None:
    made = world.create("configmaps", {"metadata": {"name": "c", "finalizers": ["example.com/wait"]}})
    resource = world.kind("configmaps")
    deletion = world.core.lifecycle.delete(resource, made)
    assert not deletion.gone
    released = {**deletion.object, "metadata": {**deletion.object["metadata"], "finalizers": []}}
    world.core.lifecycle.update(resource, deletion.object, released)
    assert "c" not in world.names("configmaps", "default")


def test_dependents_go_after_their_owner(world: HandTurned) -> None:
    owner = world.create("configmaps", CONFIG)
    world.create("secrets", owned_by(owner))
    world.core.lifecycle.delete(world.kind("configmaps"), owner)
    assert world.names("secrets") == ["dependent"]
    world.settle()
    assert world.names("secrets") == []


def test_orphans_stay_and_forget_their_owner(world: HandTurned) -> None:
    owner = world.create("configmaps", CONFIG)
    world.create("secrets", owned_by(owner))
    world.core.lifecycle.delete(world.kind("configmaps"), owner, DeleteOptions(propagation="Orphan"))
    world.settle()
    assert world.core.store.select(("", "secrets"))[0]["metadata"]["ownerReferences"] == []


def test_deleted_in_the_foreground_an_owner_goes_last(world: HandTurned) -> None:
    owner = world.create("configmaps", CONFIG)
    held = owned_by(owner)
    held["metadata"]["finalizers"] = ["example.com/wait"]
    dependent = world.create("secrets", held)
    world.core.lifecycle.delete(world.kind("configmaps"), owner, DeleteOptions(propagation="Foreground"))
    world.settle()
    assert "c" in world.names("configmaps", "default")
    dependent = world.core.store.get(world.kind("secrets"), "default", "dependent")
    freed = {**dependent, "metadata": {**dependent["metadata"], "finalizers": []}}
    world.core.lifecycle.update(world.kind("secrets"), dependent, freed)
    world.settle()
    assert "c" not in world.names("configmaps", "default")


def test_a_pod_on_a_node_is_given_its_grace(world: HandTurned) -> None:
    made = world.create("pods", {**POD, "spec": {**POD["spec"], "nodeName": "n"}})
    pods = world.kind("pods")
    deletion = world.core.lifecycle.delete(pods, made)
    assert deletion.object["metadata"]["deletionGracePeriodSeconds"] == 30
    assert world.names("pods") == ["p"]
    assert world.core.lifecycle.delete(pods, deletion.object, DeleteOptions(grace_period_s=0)).gone
    assert world.names("pods") == []


def test_a_namespace_takes_its_contents_with_it(world: HandTurned) -> None:
    namespace = world.create("namespaces", {"metadata": {"name": "team"}})
    world.create("configmaps", CONFIG, "team")
    deletion = world.core.lifecycle.delete(world.kind("namespaces"), namespace)
    assert deletion.object["status"]["phase"] == "Terminating"
    with pytest.raises(StatusError, match="because it is being terminated"):
        world.create("secrets", {"metadata": {"name": "late"}}, "team")
    world.settle()
    assert "team" not in world.names("namespaces")
    assert world.names("configmaps", "team") == []


def test_a_namespace_waits_for_a_finalizer_inside(world: HandTurned) -> None:
    namespace = world.create("namespaces", {"metadata": {"name": "team"}})
    world.create("configmaps", {"metadata": {"name": "c", "finalizers": ["example.com/wait"]}}, "team")
    world.core.lifecycle.delete(world.kind("namespaces"), namespace)
    world.settle()
    assert "team" in world.names("namespaces")


def test_every_namespace_gets_a_service_account_and_the_authority(world: HandTurned) -> None:
    world.create("namespaces", {"metadata": {"name": "team"}})
    assert world.names("serviceaccounts", "team") == ["default"]
    assert world.names("configmaps", "team") == ["kube-root-ca.crt"]


def test_a_definition_is_not_served_at_once(world: HandTurned) -> None:
    world.create("customresourcedefinitions", definition(), None, "apiextensions.k8s.io")
    assert world.core.registry.find("example.com", "v1", "widgets") is None
    world.settle()
    assert world.core.registry.find("example.com", "v1", "widgets") is not None


def test_a_definition_waits_for_its_last_object(world: HandTurned) -> None:
    crds = world.kind("customresourcedefinitions", "apiextensions.k8s.io")
    world.create("customresourcedefinitions", definition(), None, "apiextensions.k8s.io")
    world.settle()
    held = {"metadata": {"name": "w", "finalizers": ["example.com/wait"]}, "spec": {"size": 1}}
    world.create("widgets", held, "default", "example.com")
    world.core.lifecycle.delete(crds, world.core.store.get(crds, None, "widgets.example.com"))
    world.settle()
    assert "widgets.example.com" in world.names("customresourcedefinitions", None, "apiextensions.k8s.io")
    widgets = world.kind("widgets", "example.com")
    widget = world.core.store.get(widgets, "default", "w")
    world.core.lifecycle.update(widgets, widget, {**widget, "metadata": {**widget["metadata"], "finalizers": []}})
    world.settle()
    assert world.names("customresourcedefinitions", None, "apiextensions.k8s.io") == []
    assert world.core.registry.find("example.com", "v1", "widgets") is None


@pytest.mark.parametrize(
    ("plural", "group", "broken", "complaint"),
    [
        ("configmaps", "", {"metadata": {"name": "Upper"}}, "lowercase RFC 1123 subdomain"),
        ("configmaps", "", {"metadata": {}}, "name or generateName is required"),
        ("configmaps", "", {"metadata": {"name": "c"}, "data": {"n": 1}}, "data.n: Invalid value"),
        ("pods", "", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}, "image: Required value"),
        ("deployments", "apps", deployment(selector={"matchLabels": {"app": "x"}}), "does not match template"),
        ("pods", "", {**POD, "spec": {**POD["spec"], "priorityClassName": "x"}}, "no PriorityClass with name x"),
        ("pods", "", {**POD, "spec": {**POD["spec"], "serviceAccountName": "x"}}, "error looking up service account"),
    ],
)
def test_a_wrong_object_is_refused(
    world: HandTurned, plural: str, group: str, broken: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(StatusError, match=complaint):
        world.create(plural, broken, "default", group)


def test_devices_need_a_limit(world: HandTurned) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": 1}}}
    with pytest.raises(StatusError, match="Limit must be set for non overcommitable resources"):
        world.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [container]}})


def test_a_selector_cannot_be_changed(world: HandTurned) -> None:
    resource = world.kind("deployments", "apps")
    made = world.core.lifecycle.create(resource, "default", deployment())
    labels = {"app": "other"}
    template = {"metadata": {"labels": labels}, "spec": made["spec"]["template"]["spec"]}
    changed = {**made, "spec": {**made["spec"], "selector": {"matchLabels": labels}, "template": template}}
    with pytest.raises(StatusError, match=r"spec.selector: Invalid value: .*field is immutable"):
        world.core.lifecycle.update(resource, made, changed)


def test_a_watch_sees_objects_enter_and_leave_its_selector(world: HandTurned) -> None:
    watcher = Watcher(("", "configmaps"), "default", object_test({"labelSelector": "tier=gold"}))
    world.core.store.watch(watcher)
    resource, made = world.kind("configmaps"), world.create("configmaps", CONFIG)
    for labels in ({"tier": "gold"}, {"tier": "gold", "x": "y"}, {"tier": "tin"}):
        made = world.core.lifecycle.update(resource, made, {**made, "metadata": {**made["metadata"], "labels": labels}})
    events = [watcher.queue.get_nowait().type for _ in range(watcher.queue.qsize())]
    assert events == ["ADDED", "MODIFIED", "DELETED"]


def test_a_watch_catches_up_from_a_version(world: HandTurned) -> None:
    before = world.core.store.version
    world.create("configmaps", CONFIG)
    watcher = Watcher(("", "configmaps"), None, object_test({}))
    world.core.store.watch(watcher, since=before)
    assert watcher.queue.get_nowait().object["metadata"]["name"] == "c"
