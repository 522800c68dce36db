"""Removals: what a stack made goes through its stack, what stays behind stops the run. States come from scripts."""

from __future__ import annotations

import pytest

from clusterctl.engine.removal import Remover
from clusterctl.errors import InterruptedRunError, LeftoversError
from clusterctl.model.cluster import ClusterState, NodegroupState, StackState
from clusterctl.model.failures import classify
from clusterctl.model.launch import Patience
from clusterctl.model.leftovers import Resource, ResourceKind
from fakes import FakeAws, FakeClock, FakeEksctl, FakeRun, Leftovers, Recorder, ScriptedClusters, group

STACK = "delete stack eksctl-training-nodegroup-gpu"
CLUSTER_STACK = "delete stack eksctl-training-cluster"


def cluster(status: str = "", stack: str = "", **facts: object) -> ClusterState:
    return ClusterState("us-east-2", "training", status, stack=StackState("s", stack, **facts))  # type: ignore[arg-type]


class Removal:
    """A remover over scripted states."""

    def __init__(
        self, *, groups: tuple[NodegroupState, ...] = (), clusters: tuple[ClusterState, ...] = (),
        lasts_s: float = 0.0, busy: dict[str, int] | None = None, clock: FakeClock | None = None,
        found: tuple[Resource, ...] = (),
    ) -> None:  # fmt: skip
        self.clock = clock or FakeClock()
        self.run = FakeRun(self.clock, lasts_s, tail="Error: eksctl gave up")
        self.eksctl = FakeEksctl(self.run)
        self.aws = FakeAws(busy)
        self.told = Recorder()
        reader = ScriptedClusters(groups=groups, clusters=clusters)
        self._remover = Remover(self.eksctl, reader, self.aws, self.clock, Leftovers(found))

    def nodegroup(self) -> list[str]:
        self._remover.nodegroup("us-east-2", "training", "gpu", self.told.tell)
        return self.aws.calls

    def cluster(self) -> list[str]:
        self._remover.cluster("us-east-2", "training", self.told.tell)
        return self.eksctl.calls + self.aws.calls

    def resource(self, one: Resource) -> list[str]:
        self._remover.resource(one, self.told.tell)
        return self.aws.calls


def test_a_node_group_with_a_stack_goes_through_its_stack() -> None:
    removal = Removal(groups=(group("ACTIVE", "CREATE_COMPLETE"), group("DELETING", "DELETE_IN_PROGRESS"), group()))
    assert removal.nodegroup() == [STACK]
    assert removal.told.words[-1] == "EKS: node group gone, CloudFormation: gone"


def test_a_node_group_without_a_stack_goes_through_eks() -> None:
    removal = Removal(groups=(group("CREATE_FAILED"), group("DELETING"), group()))
    assert removal.nodegroup() == ["delete nodegroup gpu"]


def test_what_is_deleted_already_is_only_awaited() -> None:
    assert Removal(groups=(group("DELETING"), group("DELETING"), group())).nodegroup() == []
    assert Removal(groups=(group(),)).nodegroup() == []


def test_a_deletion_that_failed_before_is_no_answer_to_this_one() -> None:
    removal = Removal(groups=(group("", "DELETE_FAILED"), group("", "DELETE_IN_PROGRESS"), group()))
    assert removal.nodegroup() == [STACK]
    assert removal.clock.slept_s > 0


def test_a_stack_that_its_node_group_blocks_is_deleted_again_once_that_is_gone() -> None:
    removal = Removal(
        groups=(
            group("ACTIVE", "CREATE_COMPLETE"), group("DELETE_FAILED", "DELETE_FAILED"),
            group("DELETING", "DELETE_FAILED"), group("", "DELETE_FAILED"), group("", "DELETE_IN_PROGRESS"), group(),
        )
    )  # fmt: skip
    assert removal.nodegroup() == [STACK, "delete nodegroup gpu", STACK]


def test_a_node_group_that_cannot_be_removed_stops_the_run_with_the_reason() -> None:
    failure = classify("", "resource sg-1 has a dependent object")
    stuck = group("", "DELETE_FAILED")
    stuck = type(stuck)("us-east-2", "training", "gpu", stack=StackState("s", "DELETE_FAILED", failure=failure))
    with pytest.raises(LeftoversError, match="node group gpu could not be removed: resource sg-1 has a") as caught:
        Removal(groups=(group("ACTIVE", "CREATE_COMPLETE"), stuck)).nodegroup()
    assert "describe-stack-events --region us-east-2" in caught.value.hint


def test_a_node_group_that_never_goes_ends_within_the_patience() -> None:
    removal = Removal(groups=(group("DELETING", "DELETE_IN_PROGRESS"),))
    with pytest.raises(LeftoversError, match="no reason given"):
        removal.nodegroup()
    assert removal.clock.slept_s <= Patience().removal_s + Patience().every_s


ACTIVE = cluster("ACTIVE", "CREATE_COMPLETE")


def test_a_cluster_goes_through_eksctl() -> None:
    removal = Removal(
        clusters=(cluster("ACTIVE", "CREATE_COMPLETE"), cluster("DELETING", "DELETE_IN_PROGRESS"), cluster()),
        lasts_s=20,
    )
    assert removal.cluster() == ["delete cluster training"]
    assert removal.run.stopped


def test_a_cluster_stack_that_eksctl_leaves_behind_is_deleted_too() -> None:
    removal = Removal(clusters=(ACTIVE, cluster("", "DELETE_FAILED"), cluster("", "DELETE_IN_PROGRESS"), cluster()))
    assert removal.cluster() == ["delete cluster training", CLUSTER_STACK]


def test_a_cluster_that_stays_stops_the_run_with_eksctls_last_words() -> None:
    with pytest.raises(LeftoversError, match="cluster training could not be removed: Error: eksctl gave up"):
        Removal(clusters=(cluster("ACTIVE", "CREATE_COMPLETE"), cluster("", "DELETE_FAILED"))).cluster()


def test_an_eksctl_that_never_ends_is_stopped_and_its_stack_deleted_without_it() -> None:
    there = cluster("ACTIVE", "CREATE_COMPLETE")
    removal = Removal(clusters=(*[there] * 121, cluster()), lasts_s=1e9)
    assert removal.cluster() == ["delete cluster training", CLUSTER_STACK]
    assert removal.run.stopped


def test_eksctl_is_stopped_when_the_run_is_interrupted() -> None:
    removal = Removal(clusters=(cluster("ACTIVE", "CREATE_COMPLETE"),), lasts_s=1e9, clock=FakeClock(60))
    with pytest.raises(InterruptedRunError):
        removal.cluster()
    assert removal.run.stopped


def blocker(kind: ResourceKind, name: str, *, owned: bool) -> Resource:
    return Resource(kind, name, "us-east-2", owned)


IN_THE_WAY = (
    blocker(ResourceKind.LOAD_BALANCER, "lb-ours", owned=True),
    blocker(ResourceKind.NETWORK_INTERFACE, "eni-foreign", owned=False),
    blocker(ResourceKind.SECURITY_GROUP, "sg-ours", owned=True),
    blocker(ResourceKind.VOLUME, "vol-ours", owned=True),
)
STUCK = cluster("", "DELETE_FAILED", failure=classify("", "The vpc 'vpc-1' has dependencies and cannot be deleted."))


def test_what_of_the_cluster_keeps_its_stack_from_going_is_removed_and_the_stack_deleted_again() -> None:
    removal = Removal(clusters=(ACTIVE, STUCK, cluster("", "DELETE_IN_PROGRESS"), cluster()), found=IN_THE_WAY)
    assert removal.cluster() == ["delete cluster training", "remove lb-ours", "remove sg-ours", CLUSTER_STACK]
    assert any("has dependencies" in words for words in removal.told.words)


def test_what_is_not_ours_is_never_removed_however_often_it_is_in_the_way() -> None:
    removal = Removal(clusters=(ACTIVE, STUCK), found=IN_THE_WAY[1:2])
    with pytest.raises(LeftoversError, match=r"has dependencies.*not ours and in the way: eni-foreign") as caught:
        removal.cluster()
    assert not [one for one in removal.aws.calls if one.startswith("remove")]
    assert [one["id"] for one in caught.value.document["leftovers"]] == ["eksctl-training-cluster"]
    assert "delete-stack" in caught.value.document["leftovers"][0]["command"]
    assert [one["id"] for one in caught.value.document["kept"]] == ["eni-foreign"]


def test_a_blocker_that_cannot_be_removed_does_not_keep_the_stack_from_being_tried() -> None:
    removal = Removal(
        clusters=(ACTIVE, STUCK, cluster("", "DELETE_IN_PROGRESS"), cluster()), found=IN_THE_WAY, busy={"lb-ours": 1000}
    )
    assert removal.cluster()[-2:] == ["remove sg-ours", CLUSTER_STACK]


VOLUME = Resource(ResourceKind.VOLUME, "vol-1", "us-east-2", owned=True, command="aws ec2 delete-volume vol-1")


def test_a_leftover_that_is_still_in_use_is_tried_until_it_is_let_go() -> None:
    removal = Removal(busy={"vol-1": 3})
    assert removal.resource(VOLUME) == ["remove vol-1"] * 4
    assert removal.told.words == ["volume vol-1 in us-east-2 is still in use"] * 3


def test_a_leftover_that_is_never_let_go_is_named_with_the_command_that_removes_it() -> None:
    removal = Removal(busy={"vol-1": 1000})
    with pytest.raises(LeftoversError, match="volume vol-1 in us-east-2 is still in use") as caught:
        removal.resource(VOLUME)
    assert caught.value.hint == VOLUME.command
    assert [one["id"] for one in caught.value.document["leftovers"]] == ["vol-1"]
    assert removal.clock.slept_s <= Patience().leftover_s
