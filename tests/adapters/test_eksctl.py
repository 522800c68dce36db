"""What eksctl is asked, seen by an eksctl that writes down what it got."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clusterctl.adapters.eksctl import EksctlTool
from clusterctl.adapters.process import EKSCTL, Tool, ToolProcess


@pytest.fixture
def eksctl(tmp_path: Path) -> EksctlTool:
    program = tmp_path / "eksctl"
    program.write_text(
        '#!/bin/sh\n[ "$1" = version ] && echo 0.230.0 && exit\necho "args: $*"\necho "kubeconfig: $KUBECONFIG"\ncat\n'
    )
    program.chmod(0o755)
    return EksctlTool(Tool(EKSCTL, {"PATH": os.environ["PATH"]}, [tmp_path]), tmp_path / "scratch")


def heard(run: ToolProcess) -> str:
    assert not run.wait(10)
    return run.stdout


def test_the_config_goes_through_stdin_and_the_plugins_stay_ours(eksctl: EksctlTool) -> None:
    for run in (eksctl.create_cluster("kind: ClusterConfig\n"), eksctl.create_nodegroup("kind: ClusterConfig\n")):
        said = heard(run)
        assert said.endswith("kind: ClusterConfig\n")
        assert " -f - " in said
        assert "--install-nvidia-plugin=false --install-neuron-plugin=false" in said


def test_the_users_kubeconfig_is_never_eksctls(eksctl: EksctlTool, tmp_path: Path) -> None:
    assert "--write-kubeconfig=false" in heard(eksctl.create_cluster("x"))
    assert f"kubeconfig: {tmp_path}/scratch" in heard(eksctl.delete_cluster("us-east-2", "training"))


def test_a_cluster_is_deleted_by_name_to_the_end_and_past_disruption_budgets(eksctl: EksctlTool) -> None:
    said = heard(eksctl.delete_cluster("us-east-2", "training"))
    assert "args: delete cluster --name training --region us-east-2 --wait --force --disable-nodegroup-eviction" in said
    assert " -f" not in said


def test_the_oidc_provider_is_made_without_a_question(eksctl: EksctlTool) -> None:
    said = heard(eksctl.associate_oidc("us-east-2", "training"))
    assert "utils associate-iam-oidc-provider --cluster training --region us-east-2 --approve" in said


def test_no_run_colours_its_output(eksctl: EksctlTool) -> None:
    assert "--color=false" in heard(eksctl.create_nodegroup("x"))
