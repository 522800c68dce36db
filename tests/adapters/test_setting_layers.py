"""Where settings come from: what each layer takes, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterctl.adapters.setting_layers import environment_layer, flag_layer, placement_layer, project_layer
from clusterctl.errors import UsageError
from clusterctl.model.placement import Placement
from clusterctl.model.settings import Origin, resolve


def test_flags_that_nobody_gave_say_nothing() -> None:
    layer = flag_layer({"REGIONS": (), "REGION": None, "OWNER": "", "GPU_NODE_COUNT": 2, "ASSUME_YES": False})
    assert dict(layer.values) == {"GPU_NODE_COUNT": 2, "ASSUME_YES": False}


def test_the_environment_is_read_for_our_names_alone() -> None:
    layer = environment_layer({"REGION": "us-west-2", "PATH": "/bin", "region": "x", "CLUSTERCTL_SANDBOX": "1"})
    assert dict(layer.values) == {"REGION": "us-west-2"}


def test_the_placement_says_what_identifies_the_cluster_and_not_the_zone() -> None:
    placement = Placement(
        region="us-east-2", cluster_name="training", gpu_az="us-east-2b", gpu_node_type="p5.48xlarge", gpu_node_count=4,
        gpu_nodegroup_name="gpu", kubeconfig="k",
    )  # fmt: skip
    settings = resolve((placement_layer(placement, Path("p")),)).settings
    assert (settings.region, settings.gpu_node_type, settings.gpu_node_count) == ("us-east-2", "p5.48xlarge", 4)
    assert settings.gpu_az == ""  # remembered, never a wish


@pytest.mark.parametrize("placement", [None, Placement()])
def test_an_empty_placement_says_nothing(placement: Placement | None) -> None:
    assert not resolve((placement_layer(placement, Path("p")),)).sources


def test_all_four_layers_together_keep_their_precedence(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.toml").write_text(
        'cluster_name = "from-project"\nregion = "us-west-1"\ngpu_node_type = "g6.12xlarge"\nnamespace = "jobs"\n'
    )
    layers = (
        project_layer(tmp_path),
        placement_layer(Placement(cluster_name="from-file", region="us-west-2"), tmp_path / "p"),
        environment_layer({"CLUSTER_NAME": "from-environment"}),
        flag_layer({"REGION": "eu-west-1"}),
    )
    resolved = resolve(layers)
    settings = resolved.settings
    assert (settings.cluster_name, settings.region, settings.gpu_node_type, settings.namespace) == (
        "from-environment", "eu-west-1", "g6.12xlarge", "jobs",
    )  # fmt: skip
    assert {key: layer.origin for key, layer in resolved.sources.items()} == {
        "CLUSTER_NAME": Origin.ENVIRONMENT, "REGION": Origin.FLAG, "GPU_NODE_TYPE": Origin.PROJECT,
        "NAMESPACE": Origin.PROJECT,
    }  # fmt: skip


def test_lists_and_numbers_of_toml_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.toml").write_text('instance_types = ["p5.48xlarge", "g6.12xlarge"]\ngpu_node_count = 3\n')
    settings = resolve((project_layer(tmp_path),)).settings
    assert (settings.types, settings.gpu_node_count) == (("p5.48xlarge", "g6.12xlarge"), 3)


def test_without_a_project_file_nothing_is_said(tmp_path: Path) -> None:
    assert dict(project_layer(tmp_path).values) == {}


@pytest.mark.parametrize("content", [b"region = ", b"\xff", b"[section"])
def test_a_project_file_that_is_no_toml_is_an_error_that_names_it(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "clusterctl.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"cannot read .*clusterctl\.toml"):
        project_layer(tmp_path)


def test_an_unknown_key_of_the_project_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.toml").write_text('regoin = "us-east-2"\n')
    with pytest.raises(UsageError, match=r"clusterctl\.toml: unknown setting REGOIN") as caught:
        resolve((project_layer(tmp_path),))
    assert caught.value.hint == "did you mean REGION?"
