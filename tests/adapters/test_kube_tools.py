"""The real kubectl and helm against a local API: what we read is what is there, and what we change is seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from clusterctl.errors import ToolFailedError
from clusterctl.model.components import efa, nvidia
from clusterctl.model.kube import Component, WorkloadRef, WorkloadState
from clusterctl.model.operators import kuberay
from clusterctl.model.settings import Settings
from clusterctl.rendering.values import component_values, efa_values, nvidia_values, parse_values
from local_kube import CHARTS, Cluster, eventually

SETTINGS = Settings()
NVIDIA, EFA, KUBERAY = nvidia(SETTINGS), efa(SETTINGS), kuberay(SETTINGS)
KUBERAY_VALUES = component_values(KUBERAY)

pytestmark = pytest.mark.sandbox


@pytest.fixture
def component(cluster: Cluster) -> Iterator[Component]:
    """The Ray operator, gone again afterwards: its cluster roles can have one owner only."""
    yield KUBERAY
    cluster.helm.uninstall(cluster.access, KUBERAY)


def test_nodes_are_read_with_what_they_offer(cluster: Cluster) -> None:
    nodes = eventually(
        lambda: cluster.kubectl.nodes(cluster.access), lambda seen: len([n for n in seen if n.ready]) == 4
    )
    kinds = sorted((node.nodegroup, node.instance_type, node.zone) for node in nodes)
    assert kinds == [("gpu", "g6.12xlarge", "us-east-2b")] * 2 + [("system", "m7i.xlarge", "us-east-2b")] * 2
    chosen = cluster.kubectl.nodes(cluster.access, "eks.amazonaws.com/nodegroup=gpu")
    assert [node.instance_id for node in chosen] == [f"i-{11:017x}", f"i-{12:017x}"]


def test_a_component_is_installed_and_read_back_as_it_was_asked_for(cluster: Cluster) -> None:
    assert not cluster.helm.release(cluster.access, NVIDIA).exists
    cluster.helm.install(cluster.access, NVIDIA, nvidia_values())
    release = cluster.helm.release(cluster.access, NVIDIA)
    assert (release.status, release.chart, release.chart_version) == (
        "deployed", "nvidia-device-plugin", SETTINGS.nvidia_device_plugin_version
    )  # fmt: skip
    assert release.values == parse_values(nvidia_values())
    plugin = eventually(lambda: _plugin(cluster, NVIDIA), lambda seen: seen.rolled_out and seen.ready == 2)
    assert plugin.release == NVIDIA.release


def test_both_plugins_make_every_gpu_node_offer_its_devices(cluster: Cluster) -> None:
    cluster.helm.install(cluster.access, NVIDIA, nvidia_values())
    cluster.helm.install(cluster.access, EFA, efa_values(["g6.12xlarge"]))
    nodes = eventually(
        lambda: cluster.kubectl.nodes(cluster.access, "role=gpu-worker"),
        lambda seen: all((node.gpus, node.efa) == (4, 1) for node in seen),
    )
    assert len(nodes) == 2


def test_a_release_left_pending_by_a_killed_helm_is_mended(cluster: Cluster, component: Component) -> None:
    cluster.helm.install(cluster.access, component, KUBERAY_VALUES)
    _set_status(cluster, component, "pending-install")
    assert cluster.helm.release(cluster.access, component).status == "pending-install"
    cluster.helm.install(cluster.access, component, KUBERAY_VALUES)
    assert cluster.helm.release(cluster.access, component).status == "deployed"


def test_a_release_left_in_an_upgrade_is_rolled_back_and_upgraded(cluster: Cluster, component: Component) -> None:
    cluster.helm.install(cluster.access, component, KUBERAY_VALUES)
    cluster.helm.install(cluster.access, component, KUBERAY_VALUES + "\nreconcileConcurrency: 2\n")
    _set_status(cluster, component, "pending-upgrade", revision=2)
    cluster.helm.install(cluster.access, component, KUBERAY_VALUES)
    release = cluster.helm.release(cluster.access, component)
    assert release.status == "deployed"
    assert release.values == parse_values(KUBERAY_VALUES)


def test_a_release_that_an_older_helm_applied_client_side_is_taken_over(cluster: Cluster, component: Component) -> None:
    cluster.session.run(
        cluster.helm_tool, cluster.access,
        ("install", component.release, str(CHARTS / "kuberay-operator"), "--namespace", component.namespace,
         "--create-namespace", "--server-side=false", "--skip-crds"),
        timeout_s=60,
    )  # fmt: skip
    cluster.helm.install(cluster.access, component, KUBERAY_VALUES)
    release = cluster.helm.release(cluster.access, component)
    assert (release.status, release.values) == ("deployed", parse_values(KUBERAY_VALUES))


def test_what_is_uninstalled_is_gone_and_a_second_time_is_no_error(cluster: Cluster, component: Component) -> None:
    cluster.helm.install(cluster.access, component, KUBERAY_VALUES)
    cluster.helm.uninstall(cluster.access, component)
    assert not cluster.helm.release(cluster.access, component).exists
    assert not _plugin(cluster, component).exists
    cluster.helm.uninstall(cluster.access, component)


def test_pods_that_cannot_run_say_why(cluster: Cluster) -> None:
    cluster.kubectl.apply(cluster.access, _deployment("greedy", '{"nvidia.com/gpu": "64"}'))
    ref = WorkloadRef("Deployment", "default", "greedy")
    state = eventually(lambda: cluster.kubectl.workload(cluster.access, ref), lambda seen: bool(seen.problems))
    assert state.problems[0].reason == "Unschedulable"
    assert "nodes are available" in state.problems[0].message
    cluster.kubectl.delete(cluster.access, ref)
    assert not cluster.kubectl.workload(cluster.access, ref).exists


def test_applying_twice_changes_nothing_and_wins_over_another_hand(cluster: Cluster) -> None:
    manifest = _deployment("twice", '{"cpu": "1"}')
    cluster.kubectl.apply(cluster.access, manifest)
    cluster.session.run(
        cluster.kubectl_tool, cluster.access, ("scale", "deployment/twice", "--replicas=3", "--namespace=default"),
        timeout_s=60,
    )  # fmt: skip
    cluster.kubectl.apply(cluster.access, manifest)
    [found] = [
        one for one in cluster.kubectl.objects(cluster.access, "deployments") if one["metadata"]["name"] == "twice"
    ]
    assert found["spec"]["replicas"] == 1


def test_objects_of_an_unknown_kind_are_none_and_deleting_them_is_done(cluster: Cluster) -> None:
    assert cluster.kubectl.objects(cluster.access, "widgets.example.com") == ()
    cluster.kubectl.delete_all(cluster.access, "widgets.example.com")


def test_all_objects_of_a_selector_are_deleted_and_others_stay(cluster: Cluster) -> None:
    for name in ("one", "two"):
        cluster.kubectl.apply(
            cluster.access, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{of: {name}}}}}\n"
        )
    cluster.kubectl.delete_all(cluster.access, "configmaps", "of=one")
    names = {one["metadata"]["name"] for one in cluster.kubectl.objects(cluster.access, "configmaps")}
    assert "two" in names
    assert "one" not in names


def test_a_chart_that_cannot_be_installed_fails_with_helms_own_words(cluster: Cluster) -> None:
    component = replace(NVIDIA, namespace="default", release="misplaced")
    with pytest.raises(ToolFailedError, match="default"):
        cluster.helm.install(cluster.access, component, nvidia_values())


def _plugin(cluster: Cluster, component: Component) -> WorkloadState:
    return cluster.kubectl.workload(cluster.access, component.workloads[0])


def _set_status(cluster: Cluster, component: Component, status: str, revision: int = 1) -> None:
    """What a helm leaves that was killed in the middle: a release whose newest revision is not finished."""
    import base64
    import gzip
    import json

    name = f"sh.helm.release.v1.{component.release}.v{revision}"
    [secret] = [one for one in cluster.kubectl.objects(cluster.access, "secrets")
                if (one["metadata"]["name"], one["metadata"]["namespace"]) == (name, component.namespace)]  # fmt: skip
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
    release["info"]["status"] = status
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    labels = {**secret["metadata"]["labels"], "status": status}
    manifest = {
        "apiVersion": "v1", "kind": "Secret", "type": secret["type"], "data": {"release": packed},
        "metadata": {"name": name, "namespace": component.namespace, "labels": labels},
    }  # fmt: skip
    cluster.kubectl.apply(cluster.access, json.dumps(manifest))


def _deployment(name: str, limits: str) -> str:
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: default}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      containers: [{{name: main, image: "busybox:1", resources: {{limits: {limits}}}}}]
"""
