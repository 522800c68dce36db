"""A local cluster with working device plugins, shared by the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterctl.adapters.kubejobs import KubeJobs
from clusterctl.cli.main import main
from local_kube import eventually, running_cluster
from training_scene import PLUGINS, Scene


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with running_cluster(tmp_path_factory.mktemp("train")) as cluster:
        for name, image in (("nvidia", "k8s-device-plugin"), ("efa", "aws-efa-k8s-device-plugin")):
            cluster.kubectl.apply(cluster.access, PLUGINS.replace("NAME", name).replace("IMAGE", image))
        eventually(
            lambda: cluster.kubectl.nodes(cluster.access, "eks.amazonaws.com/nodegroup=gpu"),
            lambda nodes: [(node.gpus, node.efa) for node in nodes] == [(4, 1)] * 2,
            limit_s=60,
        )
        yield Scene(cluster, KubeJobs(cluster.kubectl_tool, cluster.session))


@pytest.fixture
def scene(standing: Scene) -> Iterator[Scene]:
    """The module's cluster, without a fault or an event of another test."""
    standing.events.clear()
    yield standing
    standing.faults.clear()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder to call from, with a sandbox of its own that ends with the module."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in (("HOME", folder), ("CLUSTERCTL_SANDBOX_DIR", folder / "sandbox")):
            patch.setenv(name, str(value))
        yield folder
        main(["sandbox", "stop"])
