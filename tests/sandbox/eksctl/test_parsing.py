"""How configs are read: strict, blind to case, and silent about what it loses."""

from __future__ import annotations

import pytest

from clusterctl.sandbox.eksctl.config import ClusterConfig
from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.parsing import parse_config

HEAD = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n"


def with_nodegroup(text: str) -> ClusterConfig:
    body = f"metadata: {{name: x, region: us-east-2}}\nmanagedNodeGroups: [{{name: g, {text}}}]\n"
    return ClusterConfig(parse_config(HEAD + body))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("instanceTpye: g5.xlarge", 'unknown field "instanceTpye"'),
        ("labels: {n: 1}", "cannot unmarshal number into Go struct field"),
        ("efaEnabled: 'yes'", "cannot unmarshal string into Go struct field"),
        ("desiredCapacity: true", "of type int"),
        ("taints: {a: b}", "of type array"),
    ],
)
def test_a_key_or_type_that_go_does_not_know_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(EksctlError, match="error unmarshaling JSON") as refused:
        with_nodegroup(text)
    assert complaint in str(refused.value)


def test_a_version_that_yaml_takes_for_a_number_is_refused() -> None:
    with pytest.raises(EksctlError, match=r"metadata\.version of type string"):
        parse_config(HEAD + "metadata: {name: x, region: us-east-2, version: 1.34}")


def test_a_key_in_the_wrong_case_is_accepted_and_lost() -> None:
    target = "capacityReservation: {capacityReservationTarget: {capacityReservationId: cr-1}}"
    nodegroup = with_nodegroup(f"efaenabled: true, {target}").nodegroups[0]
    assert nodegroup.efa is False
    assert nodegroup.reservation == {"capacityReservationTarget": {}}


def test_another_kind_of_object_is_refused() -> None:
    with pytest.raises(EksctlError, match='no kind "Cluster" is registered'):
        parse_config("apiVersion: eksctl.io/v1alpha5\nkind: Cluster\n")


def test_sizes_default_to_each_other() -> None:
    assert with_nodegroup("desiredCapacity: 4").nodegroups[0].sizes == {"minSize": 4, "maxSize": 4, "desiredSize": 4}
    assert with_nodegroup("minSize: 0").nodegroups[0].sizes == {"minSize": 0, "maxSize": 0, "desiredSize": 0}
    assert with_nodegroup("spot: true").nodegroups[0].sizes == {"minSize": 2, "maxSize": 2, "desiredSize": 2}
