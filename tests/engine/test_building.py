"""The making of a cluster: eksctl's word is not believed, EKS and CloudFormation are asked."""

from __future__ import annotations

import pytest

from clusterctl.engine.actions import CreateCluster
from clusterctl.engine.attempts import CONTROL_PLANE, PlaceFailedError
from clusterctl.engine.building import CREATE_LIMIT_S, ClusterBuilder
from clusterctl.errors import AccessError, ClusterctlError, InterruptedRunError, QuotaTooSmallError, ToolFailedError
from clusterctl.model.cluster import ClusterState, StackState
from clusterctl.model.failures import classify
from fakes import FakeAws, FakeClock, FakeEksctl, FakeRun, Recorder, ScriptedClusters

CREATE = CreateCluster("us-east-2", "training", "config")


def cluster(status: str = "", stack: str = "", reason: str = "", **facts: object) -> ClusterState:
    made = StackState("s", stack, failure=classify("", reason) if reason else None)
    return ClusterState("us-east-2", "training", status, stack=made, **facts)  # type: ignore[arg-type]


BUSY = cluster("CREATING", "CREATE_IN_PROGRESS")
DONE = cluster("ACTIVE", "CREATE_COMPLETE", nodegroups={"system": "ACTIVE"})


class Build:
    """A builder over scripted states."""

    def __init__(
        self, *states: ClusterState, lasts_s: float = 0.0, code: int = 0, tail: str = "", clock: FakeClock | None = None
    ) -> None:
        self.clock = clock or FakeClock()
        self.run = FakeRun(self.clock, lasts_s, code, tail)
        self.aws = FakeAws()
        self.told = Recorder()
        reader = ScriptedClusters(clusters=states)
        self.builder = ClusterBuilder(FakeEksctl(self.run), reader, self.aws, self.clock)

    def create(self) -> None:
        self.builder.create(CREATE, self.told.tell)


def test_success_is_a_cluster_that_eks_calls_active() -> None:
    build = Build(cluster(), BUSY, BUSY, DONE, lasts_s=30)
    build.create()
    assert build.run.stopped
    assert build.told.words[0] == "CloudFormation: no stack yet, EKS: no cluster yet"
    assert build.told.words[-1] == "CloudFormation: CREATE_COMPLETE, EKS: ACTIVE system ACTIVE"


def test_an_eksctl_that_fails_over_a_cluster_that_comes_up_is_no_failure() -> None:
    build = Build(BUSY, BUSY, DONE, code=1, tail="Error: timed out")
    build.create()
    assert build.clock.slept_s >= 30


def test_node_groups_that_are_still_being_made_are_awaited() -> None:
    build = Build(cluster("ACTIVE", "CREATE_COMPLETE", nodegroups={"system": "CREATING"}), DONE)
    build.create()
    assert build.clock.slept_s > 0


def test_an_eksctl_that_exits_0_having_made_nothing_is_found_out() -> None:
    with pytest.raises(ToolFailedError, match="cluster training was not created: all done"):
        Build(cluster(), tail="creating\nall done").create()


def test_a_cluster_that_takes_too_long_ends_eksctl_and_keeps_what_it_said() -> None:
    build = Build(BUSY, lasts_s=10 * CREATE_LIMIT_S, tail="creating\nwaiting for the control plane")
    with pytest.raises(ToolFailedError, match="not created within 60 minutes; eksctl said last: waiting") as caught:
        build.create()
    assert build.run.stopped
    assert "creating" in caught.value.details


def test_an_eksctl_that_says_nothing_is_quoted_as_that() -> None:
    with pytest.raises(ToolFailedError, match="eksctl said nothing"):
        Build(cluster(), code=1).create()


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("The maximum number of VPCs has been reached.", QuotaTooSmallError),
        ("User is not authorized to perform: iam:CreateRole", AccessError),
    ],
)
def test_the_stacks_first_failure_is_the_reason_and_gives_the_exit_code(
    reason: str, error: type[ClusterctlError]
) -> None:
    with pytest.raises(error, match=reason.split(":", maxsplit=1)[0]) as caught:
        Build(cluster("", "ROLLBACK_COMPLETE", reason), code=1, tail="Error: failed to create cluster").create()
    assert "describe-stack-events --region us-east-2 --stack-name eksctl-training-cluster" in caught.value.hint
    assert "failed to create cluster" in caught.value.details


def test_a_cluster_that_never_comes_ends_within_the_limit() -> None:
    build = Build(BUSY, lasts_s=1e9)
    with pytest.raises(ToolFailedError):
        build.create()
    assert build.clock.slept_s <= CREATE_LIMIT_S
    assert build.run.stopped


def test_eksctl_is_stopped_when_the_run_is_interrupted() -> None:
    build = Build(BUSY, lasts_s=1e9, clock=FakeClock(100))
    with pytest.raises(InterruptedRunError):
        build.create()
    assert build.run.stopped


def test_an_oidc_provider_that_eksctl_cannot_make_is_a_failure() -> None:
    build = Build(DONE, lasts_s=20, code=1, tail="Error: denied")
    with pytest.raises(ToolFailedError) as caught:
        build.builder.associate_oidc("us-east-2", "training")
    assert caught.value.output == "Error: denied"
    Build(DONE, lasts_s=20).builder.associate_oidc("us-east-2", "training")


def test_an_addon_is_made_anew_only_once_the_failed_one_is_gone() -> None:
    failed, going = {"coredns": "CREATE_FAILED"}, {"coredns": "DELETING"}
    build = Build(cluster("ACTIVE", addons=failed), cluster("ACTIVE", addons=going), cluster("ACTIVE"))
    build.builder.replace_addon("us-east-2", "training", "coredns")
    assert build.aws.calls == ["delete addon coredns", "create addon coredns"]
    assert build.clock.slept_s == 30


def test_a_zone_without_room_for_a_control_plane_is_a_place_that_failed_with_eks_own_hint() -> None:
    reason = (
        "Cannot create cluster 'training' because us-east-2a, the targeted availability zone, does not currently have "
        "sufficient capacity to support the cluster. Retry and choose from these availability zones: us-east-2b, "
        "us-east-2c"
    )
    with pytest.raises(PlaceFailedError) as caught:
        Build(cluster("", "ROLLBACK_COMPLETE", reason), code=1, tail="Error: failed to create cluster").create()
    attempt = caught.value.attempt
    assert (attempt.zone, attempt.nodegroup) == ("us-east-2a", CONTROL_PLANE)
    assert attempt.failure is not None
    assert attempt.failure.zones == ("us-east-2b", "us-east-2c")
