"""What is read of a node group while it is being deleted. The clients answer from the test's own words."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from clusterctl.adapters.aws.nodegroups import _scaling_group

NODEGROUP = {"resources": {"autoScalingGroups": [{"name": "eks-gpu-1"}]}}


class Scaling:
    """An Auto Scaling group of one instance, whose activities cannot be read for the given reason."""

    def __init__(self, code: str, message: str) -> None:
        self._fault = ClientError({"Error": {"Code": code, "Message": message}}, "DescribeScalingActivities")

    def client(self, service: str, region: str) -> Scaling:
        return self

    def describe_auto_scaling_groups(self, **arguments: Any) -> dict[str, Any]:
        return {"AutoScalingGroups": [{"Instances": [{"LifecycleState": "InService"}]}]}

    def describe_scaling_activities(self, **arguments: Any) -> dict[str, Any]:
        raise self._fault


def test_a_scaling_group_that_goes_between_two_calls_has_no_activities() -> None:
    session: Any = Scaling("ValidationError", "AutoScalingGroup name not found - null AutoScalingGroup: eks-gpu-1")
    group = _scaling_group(session, "us-east-2", NODEGROUP)
    assert (group.in_service, group.activities) == (1, ())


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling", "ValidationError"])
def test_any_other_refusal_is_not_taken_for_an_absence(code: str) -> None:
    session: Any = Scaling(code, "refused")
    with pytest.raises(ClientError, match="refused"):
        _scaling_group(session, "us-east-2", NODEGROUP)
