"""Asking IAM's simulator, with an IAM that answers as the real one does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clusterctl.adapters.aws.permissions import PermissionCheck
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.errors import AccessError
from clusterctl.model.permissions import Grant
from clusterctl.ports import Identity
from local_aws import LocalAws

GRANTS = (Grant("Make", ("ec2:CreateVpc", "ec2:CreateSubnet"), ("*",)), Grant("Again", ("ec2:CreateVpc",), ("*",)))


class Iam:
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self, **decisions: dict[str, Any]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._decisions = decisions

    def client(self, service: str, region: str = "", purpose: object = None) -> Iam:
        return self

    def get_role(self, RoleName: str) -> dict[str, Any]:  # noqa: N803 - boto3's name
        return {"Role": {"Arn": f"arn:aws:iam::1:role/a/path/{RoleName}"}}

    def get_paginator(self, name: str) -> Iam:
        assert name == "simulate_principal_policy"
        return self

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        self.asked.append(asked)
        yield from (
            {"EvaluationResults": [{"EvalActionName": one, "EvalDecision": "allowed"} | self._said(one)]}
            for one in asked["ActionNames"]
        )

    def _said(self, action: str) -> dict[str, Any]:
        return self._decisions.get(action.split(":")[1], {})


def check(iam: Any, arn: str = "arn:aws:sts::1:assumed-role/ci/run") -> PermissionCheck:
    return PermissionCheck(iam, Identity("1", arn), "us-east-2")


def test_what_is_denied_by_a_policy_or_by_the_organization_is_named_once() -> None:
    iam = Iam(
        CreateVpc={"EvalDecision": "implicitDeny"},
        CreateSubnet={"OrganizationsDecisionDetail": {"AllowedByOrganizations": False}},
    )
    assert check(iam).denied(GRANTS) == ("ec2:CreateVpc", "ec2:CreateSubnet")


def test_a_session_is_simulated_as_its_role_with_the_path() -> None:
    iam = Iam()
    assert check(iam).denied(GRANTS) == ()
    assert {one["PolicySourceArn"] for one in iam.asked} == {"arn:aws:iam::1:role/a/path/ci"}


def test_root_is_not_asked_about_and_a_federated_user_is_unknown() -> None:
    iam = Iam()
    assert check(iam, "arn:aws:iam::1:root").denied(GRANTS) == ()
    assert iam.asked == []
    with pytest.raises(AccessError, match="neither a role nor a user"):
        check(iam, "arn:aws:sts::1:federated-user/ann").denied(GRANTS)


def test_the_sandbox_denies_what_its_faults_deny(aws: LocalAws) -> None:
    session: AwsSession = aws.session()
    mine = PermissionCheck(session, session.identity(), "us-east-2")
    assert mine.denied(GRANTS) == ()
    aws.rehearse(faults=[{"on": "ec2:CreateVpc", "error": "UnauthorizedOperation", "times": 1}])
    assert mine.denied(GRANTS) == ("ec2:CreateVpc",)
    assert mine.denied(GRANTS) == ("ec2:CreateVpc",)  # asking does not use the fault up
