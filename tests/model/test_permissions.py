"""What IAM's simulator is asked: principals, resources and context from our own policies."""

from __future__ import annotations

import pytest

from clusterctl.model.permissions import Grant, example_arn, principal_of, read_policy


@pytest.mark.parametrize(
    ("caller", "arn", "role"),
    [
        ("arn:aws:iam::1:user/team/ann", "arn:aws:iam::1:user/team/ann", ""),
        ("arn:aws:sts::1:assumed-role/ci/run-7", "arn:aws:iam::1:role/ci", "ci"),
        ("arn:aws-us-gov:sts::1:assumed-role/ci/a@b.c", "arn:aws-us-gov:iam::1:role/ci", "ci"),
    ],
)
def test_the_principal_behind_a_caller_is_found(caller: str, arn: str, role: str) -> None:
    found = principal_of(caller)
    assert (found.arn, found.role) == (arn, role)
    assert found.can_be_simulated


@pytest.mark.parametrize("caller", ["arn:aws:iam::1:root", "arn:aws:sts::1:federated-user/ann"])
def test_root_and_federated_users_cannot_be_simulated(caller: str) -> None:
    assert not principal_of(caller).can_be_simulated
    assert principal_of(caller).is_root == caller.endswith(":root")


def test_an_example_of_a_pattern_fills_what_is_left_open() -> None:
    assert example_arn("*", "aws", "eu-west-1", "1") == "*"
    assert example_arn("arn:*:eks:*:*:cluster/*", "aws", "eu-west-1", "1") == "arn:aws:eks:eu-west-1:1:cluster/example"
    assert (
        example_arn("arn:*:iam::*:role/eksctl-*", "aws-cn", "cn-north-1", "2")
        == "arn:aws-cn:iam::2:role/eksctl-example"
    )


def test_a_context_meets_the_conditions_that_it_comes_from() -> None:
    statement = {
        "Sid": "S", "Action": "a:B", "Resource": ["r"],
        "Condition": {
            "Null": {"aws:ResourceTag/k": "false"}, "StringEquals": {"x": ["one", "two"]}, "ArnLike": {"y": "p/*"},
        },
    }  # fmt: skip
    (grant,) = read_policy({"Statement": [statement]})
    assert grant.actions == ("a:B",)
    assert grant.context == {"aws:ResourceTag/k": "present", "x": "one", "y": "p/example"}
    assert Grant("S", (), ()).context == {}
