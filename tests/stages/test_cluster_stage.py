"""The cluster's plan for every state that EKS and CloudFormation can be in. The reader answers with a given state."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
import yaml

from clusterctl.engine.actions import (
    AssociateOidc,
    CreateAddon,
    CreateCluster,
    CreateNodegroup,
    DeleteCluster,
    DeleteNodegroup,
    ReplaceAddon,
    WriteKubeconfig,
)
from clusterctl.engine.attempts import CONTROL_PLANE, Attempt, Attempts
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import BusyError, CapacityUnavailableError, QuotaTooSmallError, UsageError
from clusterctl.model.capacity import Candidate, Source, Verdict, Zone
from clusterctl.model.cluster import (
    ADDONS,
    TAG_CLUSTER,
    ClusterState,
    HealthIssue,
    NodegroupState,
    StackState,
    cluster_notices,
)
from clusterctl.model.decision import Decision
from clusterctl.model.failures import classify
from clusterctl.model.instances import InstanceType
from clusterctl.model.kube import KubeAccess
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings
from clusterctl.stages.cluster import ClusterStage

REGION, NAME = "us-east-2", "training"
OURS = {TAG_CLUSTER: NAME}
ZONES = tuple(Zone(f"us-east-2{letter}", f"use2-az{number}") for number, letter in enumerate("abc", start=1))
KIND = InstanceType("g6.12xlarge", 48, 196_608, gpus=4, gpu_name="L4", efa_interfaces=1)


@dataclass
class OneAnswer:
    """Says the same of every cluster, and keeps a kubeconfig that is current or not."""

    state: ClusterState
    is_current: bool = True
    asked: list[str] = field(default_factory=list)

    def cluster(self, region: str, name: str) -> ClusterState:
        self.asked.append(f"{region}/{name}")
        return self.state

    def nodegroup(self, region: str, cluster: str, name: str) -> NodegroupState:
        return NodegroupState(region, cluster, name)

    def stack(self, region: str, name: str) -> StackState:
        return StackState(name)

    def path(self, cluster: str, region: str) -> str:
        return f"kubeconfigs/{region}-{cluster}"

    def current(self, access: KubeAccess) -> bool:
        return self.is_current


def candidate(zone: str = "us-east-2b", kind: str = "g6.12xlarge") -> Candidate:
    return Candidate(
        region=REGION, zone=zone, zone_id="use2-az2", instance_type=kind, nodes=2, offered=True, quota=None,
        needed_vcpus=96, spot_score=None, subnet="no-cluster", source=Source.PROBE, verdict=Verdict.AVAILABLE,
        reason="", hourly_usd=None,
    )  # fmt: skip


def inputs(*, kind: InstanceType = KIND, **settings: object) -> Outputs:
    decision = Decision((candidate(kind=kind.name),), {kind.name: kind}, {REGION: ZONES})
    run = RunContext("run-1", "111122223333", "ada", NAME)
    return Outputs().with_value(Settings.model_validate(settings)).with_value(run).with_value(decision)


def stage(state: ClusterState, *, is_current: bool = True) -> ClusterStage:
    answer = OneAnswer(state, is_current)
    return ClusterStage(answer, answer)


def plan(state: ClusterState, given: Outputs | None = None) -> tuple[object, ...]:
    return stage(state).plan(given or inputs(), state)


def absent(stack: str = "", tags: dict[str, str] | None = None) -> ClusterState:
    return ClusterState(REGION, NAME, stack=StackState("eksctl-training-cluster", stack, tags or {}))


def standing() -> ClusterState:
    return ClusterState(
        REGION, NAME, status="ACTIVE", version="1.34", endpoint="https://cluster.example", certificate_authority="Q0E=",
        oidc_issuer="https://oidc.example/id/A", oidc_provider=True, vpc_id="vpc-0",
        private_subnets={"us-east-2a": "subnet-a", "us-east-2b": "subnet-b"}, addons=dict.fromkeys(ADDONS, "ACTIVE"),
        nodegroups={"system": "ACTIVE"}, tags=OURS, kubeconfig_current=True,
        stack=StackState("eksctl-training-cluster", "CREATE_COMPLETE", OURS),
        system_stack=StackState("eksctl-training-nodegroup-system", "CREATE_COMPLETE", OURS),
    )  # fmt: skip


def test_nothing_there_means_create_with_the_zones_where_gpus_may_land() -> None:
    (action,) = plan(absent())
    assert isinstance(action, CreateCluster)
    config = yaml.safe_load(action.config)
    assert config["availabilityZones"] == ["us-east-2a", "us-east-2b"]  # one may hold GPUs, EKS wants two
    assert config["metadata"]["tags"]["clusterctl:run"] == "run-1"
    assert str(action) == (
        "create cluster training in us-east-2: Kubernetes 1.34, 2 x m7i.xlarge, zones us-east-2a, us-east-2b"
    )


def test_a_cluster_that_is_as_wanted_needs_nothing() -> None:
    state = standing()
    assert plan(state) == ()
    assert stage(state).waiting_for(inputs(), state) == ""


@pytest.mark.parametrize(
    "status", ["CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED", "CREATE_COMPLETE"]
)
def test_a_broken_stack_of_ours_goes_before_the_cluster_is_made(status: str) -> None:
    removal, creation = plan(absent(status, OURS))
    assert isinstance(removal, DeleteCluster)
    assert status in str(removal)
    assert isinstance(creation, CreateCluster)


@pytest.mark.parametrize("status", ["ROLLBACK_COMPLETE", "DELETE_FAILED"])
def test_a_broken_stack_of_somebody_else_is_named_and_left_alone(status: str) -> None:
    with pytest.raises(UsageError, match=f"not made by clusterctl .*{status}") as caught:
        plan(absent(status, {"team": "other"}))
    assert "eksctl delete cluster --name training" in caught.value.hint


@pytest.mark.parametrize("status", ["CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "DELETE_IN_PROGRESS"])
def test_a_stack_of_ours_in_transit_is_awaited(status: str) -> None:
    state = absent(status, OURS)
    assert plan(state) == ()
    assert status in stage(state).waiting_for(inputs(), state)


def test_somebody_elses_stack_in_transit_is_busy() -> None:
    with pytest.raises(BusyError, match="somebody else"):
        plan(absent("CREATE_IN_PROGRESS"))


@pytest.mark.parametrize(
    ("status", "stack"),
    [("CREATING", "CREATE_IN_PROGRESS"), ("DELETING", "DELETE_IN_PROGRESS"), ("ACTIVE", "DELETE_IN_PROGRESS"),
     ("ACTIVE", "CREATE_IN_PROGRESS"), ("UPDATING", "UPDATE_IN_PROGRESS"), ("ACTIVE", "ROLLBACK_IN_PROGRESS")],
)  # fmt: skip
def test_a_cluster_on_its_way_is_awaited_and_not_mended(status: str, stack: str) -> None:
    state = replace(standing(), status=status, addons={}, stack=StackState("s", stack, OURS))
    assert plan(state) == ()
    assert stage(state).waiting_for(inputs(), state)


def test_a_failed_cluster_of_ours_is_made_anew() -> None:
    removal, creation = plan(replace(standing(), status="FAILED"))
    assert (type(removal), type(creation)) == (DeleteCluster, CreateCluster)


def test_a_working_cluster_is_kept_though_an_update_of_its_stack_failed() -> None:
    state = replace(standing(), stack=StackState("s", "UPDATE_ROLLBACK_FAILED", OURS))
    assert plan(state) == ()


def test_what_is_missing_is_added_and_nothing_else() -> None:
    state = replace(
        standing(), oidc_provider=False, kubeconfig_current=False, addons=dict.fromkeys(ADDONS[1:], "ACTIVE")
    )
    assert plan(state) == (
        AssociateOidc(REGION, NAME),
        CreateAddon(REGION, NAME, "vpc-cni"),
        WriteKubeconfig(state.access, "kubeconfigs/us-east-2-training"),
    )


def test_an_addon_that_failed_is_made_anew_since_eksctl_would_skip_it() -> None:
    state = standing()
    assert plan(replace(state, addons=state.addons | {"coredns": "CREATE_FAILED"})) == (
        ReplaceAddon(REGION, NAME, "coredns", "it is CREATE_FAILED"),
    )


@pytest.mark.parametrize("status", ["CREATING", "UPDATING", "DEGRADED", "DELETING"])
def test_an_addon_that_may_still_come_right_is_awaited_with_eks_own_reason(status: str) -> None:
    issue = HealthIssue("InsufficientNumberOfReplicas", "coredns: not enough replicas")
    state = replace(standing(), addons=standing().addons | {"coredns": status}, addon_issues=(issue,))
    assert plan(state) == ()
    assert stage(state).waiting_for(inputs(), state) == f"coredns {status}; coredns: not enough replicas"


def test_system_nodes_that_are_missing_come_in_the_clusters_own_version_and_zones() -> None:
    state = replace(standing(), version="1.33", nodegroups={}, system_stack=StackState("s"))
    (action,) = plan(state)
    assert isinstance(action, CreateNodegroup)
    config = yaml.safe_load(action.config)
    assert (action.nodegroup, config["metadata"]["version"]) == ("system", "1.33")
    assert config["availabilityZones"] == ["us-east-2a", "us-east-2b"]


@pytest.mark.parametrize(
    ("status", "stack"), [("", "ROLLBACK_COMPLETE"), ("CREATE_FAILED", "CREATE_FAILED"), ("", "CREATE_COMPLETE")]
)
def test_broken_system_nodes_go_before_new_ones_come(status: str, stack: str) -> None:
    groups = {"system": status} if status else {}
    removal, creation = plan(replace(standing(), nodegroups=groups, system_stack=StackState("s", stack, OURS)))
    assert isinstance(removal, DeleteNodegroup)
    assert isinstance(creation, CreateNodegroup)


def test_system_nodes_on_their_way_are_awaited() -> None:
    state = replace(standing(), nodegroups={"system": "CREATING"}, system_stack=StackState("s", "CREATE_IN_PROGRESS"))
    assert plan(state) == ()
    assert stage(state).waiting_for(inputs(), state) == "system node group: CREATING"


def test_system_nodes_that_cannot_be_made_end_the_stage_with_their_own_reason() -> None:
    failure = classify("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of 8")
    attempts = Attempts((Attempt(REGION, "", "m7i.xlarge", "quota", failure.message, failure, "system"),))
    state = replace(standing(), nodegroups={"system": "CREATE_FAILED"})
    with pytest.raises(QuotaTooSmallError, match="system node group was not made: You have requested more vCPU"):
        plan(state, inputs().with_value(attempts))


def test_a_cluster_of_somebody_else_is_only_added_to() -> None:
    state = replace(standing(), tags={}, stack=StackState("s", "CREATE_COMPLETE"), addons={})
    assert {type(action) for action in plan(state)} == {CreateAddon}
    assert cluster_notices(state, "1.34") == (
        "cluster training was not made by clusterctl: it is only added to, and never deleted",
    )


def test_broken_system_nodes_of_somebody_else_are_left_alone() -> None:
    state = replace(
        standing(), tags={}, stack=StackState("s", "CREATE_COMPLETE"), nodegroups={},
        system_stack=StackState("s", "ROLLBACK_COMPLETE"),
    )  # fmt: skip
    with pytest.raises(UsageError, match="node group system of training"):
        plan(state)


def test_a_cluster_that_eksctl_does_not_know_is_refused() -> None:
    with pytest.raises(UsageError, match="was not made by eksctl"):
        plan(replace(standing(), stack=StackState("s")))


def test_an_older_version_is_reported_and_not_changed() -> None:
    state = replace(standing(), version="1.33")
    assert plan(state) == ()
    assert cluster_notices(state, "1.34") == ("cluster training runs Kubernetes 1.33, 1.34 was asked for",)


def test_a_type_that_eksctl_renders_wrong_is_refused_before_the_cluster_is_paid_for() -> None:
    b300 = replace(KIND, name="p6-b300.48xlarge", first_card_has_efa=False)
    with pytest.raises(UsageError, match="first network card"):
        plan(absent(), inputs(kind=b300))


def test_observing_looks_at_the_decided_region_and_at_the_kubeconfig() -> None:
    answer = OneAnswer(replace(standing(), kubeconfig_current=False), is_current=True)
    seen = ClusterStage(answer, answer).observe(inputs())
    assert answer.asked == ["us-east-2/training"]
    assert seen.kubeconfig_current


def test_what_is_expected_of_a_plan_needs_no_further_plan() -> None:
    for before in (absent(), replace(standing(), addons={}, nodegroups={}, oidc_provider=False)):
        after = stage(before).expect(inputs(), before)
        assert after.private_subnets.keys() == {"us-east-2a", "us-east-2b"}
        done = replace(after, stack=StackState("s", "CREATE_COMPLETE", OURS))
        assert plan(done) == ()
        assert stage(done).waiting_for(inputs(), done) == ""


def test_a_region_without_any_usable_place_says_so_here_too() -> None:
    taken = replace(candidate(), verdict=Verdict.NO_CAPACITY, reason="none left")
    given = inputs().with_value(Decision((taken,), {KIND.name: KIND}, {REGION: ZONES}))
    with pytest.raises(CapacityUnavailableError):
        plan(absent(), given)


def unplaced(*zones: str, times: int = 1) -> Attempts:
    """EKS had no room for the control plane in a zone, and named others."""
    failure = classify("", "Cannot create cluster 'training' because us-east-2a, the targeted availability zone, does "
                       "not currently have sufficient capacity to support the cluster. Retry and choose from these "
                       f"availability zones: {', '.join(zones)}")  # fmt: skip
    attempt = Attempt(REGION, "us-east-2a", "", failure.cause.value, failure.message, failure, CONTROL_PLANE)
    return Attempts((attempt,) * times)


def test_a_cluster_that_eks_has_no_room_for_is_made_again_in_the_zones_that_eks_names() -> None:
    given = inputs().with_value(unplaced("us-east-2b", "us-east-2c"))
    removal, creation = plan(absent("ROLLBACK_COMPLETE", OURS), given)
    assert isinstance(removal, DeleteCluster)
    assert isinstance(creation, CreateCluster)
    assert yaml.safe_load(creation.config)["availabilityZones"] == ["us-east-2b", "us-east-2c"]


@pytest.mark.parametrize("attempts", [unplaced("us-east-2a", "us-east-2c"), unplaced("us-east-2b", times=2)])
def test_no_cluster_is_made_where_its_nodes_could_not_live_or_a_third_time(attempts: Attempts) -> None:
    with pytest.raises(CapacityUnavailableError, match="EKS has no room for cluster training: Cannot create cluster"):
        plan(absent(), inputs().with_value(attempts))
