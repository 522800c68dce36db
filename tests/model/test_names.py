"""Names that eksctl, EKS and CloudFormation would refuse only minutes later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.errors import UsageError
from clusterctl.model.names import check_names, cluster_stack, kubeconfig_name, nearest, nodegroup_stack

GOOD = st.from_regex(r"[a-zA-Z][-a-zA-Z0-9]{0,40}", fullmatch=True)


@given(GOOD, GOOD)
def test_names_that_pass_make_stack_names_that_cloudformation_takes(cluster: str, nodegroup: str) -> None:
    check_names(cluster, (nodegroup,))
    for stack in (cluster_stack(cluster), nodegroup_stack(cluster, nodegroup)):
        assert len(stack) <= 128
        assert stack.replace("-", "").isalnum()


@pytest.mark.parametrize("name", ["", "1a", "-a", "a_b", "a b", "a.b", "é", "a\n"])
def test_a_name_that_eks_refuses_is_refused_first(name: str) -> None:
    with pytest.raises(UsageError, match="CLUSTER_NAME"):
        check_names(name, ())
    with pytest.raises(UsageError, match="GPU_NODEGROUP_NAME"):
        check_names("training", (name,))


def test_limits_are_those_of_eks_and_of_the_stack_that_both_names_make() -> None:
    check_names("a" * 100, ("b",))
    with pytest.raises(UsageError, match="101 characters long, EKS takes 100"):
        check_names("a" * 101, ())
    with pytest.raises(UsageError, match="64 characters long, EKS takes 63"):
        check_names("a", ("b" * 64,))
    with pytest.raises(UsageError, match="the limit is 128") as caught:
        check_names("a" * 80, ("b" * 40,))
    assert "shorter" in caught.value.hint


def test_stacks_are_named_as_eksctl_names_them() -> None:
    assert cluster_stack("training") == "eksctl-training-cluster"
    assert nodegroup_stack("training", "gpu") == "eksctl-training-nodegroup-gpu"
    assert kubeconfig_name("us-east-2", "training") == "us-east-2-training"


@pytest.mark.parametrize(("word", "meant"), [("GPU_NODE_TYP", "GPU_NODE_TYPE"), ("xyz", "")])
def test_the_nearest_word_is_found_or_none(word: str, meant: str) -> None:
    assert nearest(word, ("GPU_NODE_TYPE", "REGION")) == meant
