"""Every action reaches the hands that can do it, and its intent is written first. The hands only remember."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from clusterctl.engine import actions
from clusterctl.engine.actions import Action, Effect
from clusterctl.engine.attempts import RegionExhaustedError
from clusterctl.engine.probing import ProbeLedger
from clusterctl.errors import ToolFailedError
from clusterctl.model.capacity import ProbeOutcome, ReservationOrder
from clusterctl.model.kube import KubeAccess, WorkloadRef
from clusterctl.model.leftovers import Resource, ResourceKind
from clusterctl.model.operators import kuberay
from clusterctl.model.placement import Placement
from clusterctl.model.settings import Settings
from fakes import START, FakeJournal, FakePlacements, Recorder, executor

ACCESS = KubeAccess("us-east-2", "training", "https://cluster.example", "Q0E=")
ORDER = ReservationOrder("us-east-2", "us-east-2a", "use2-az1", "g6.12xlarge", 2, "token")
VOLUME = Resource(ResourceKind.VOLUME, "vol-1", "us-east-2", owned=True)
WHERE = ("us-east-2", "training")
SECRET = "rendered-and-long"
ACTIONS: tuple[tuple[Action, str, str], ...] = (  # the action, the hand that does it, the effect's mark
    (actions.ProbeCapacity((ORDER,), 0.15), "prober.prove", "$"),
    (actions.ProveAgain(ORDER, 0.15), "prover.prove_again", "$"),
    (actions.HoldCapacity((ORDER,), 3.83, 18.4), "prover.hold", "$"),
    (actions.CancelReservation("us-east-2", "cr-1", "a stray"), "prober.cancel", "-"),
    (actions.RememberPlacement(Placement(gpu_az="us-east-2a")), "placement.save", "~"),
    (actions.CreateCluster(*WHERE, SECRET, "Kubernetes 1.34"), "builder.create", "+"),
    (actions.DeleteCluster(*WHERE, "teardown"), "remover.cluster", "-"),
    (actions.CreateNodegroup(*WHERE, "gpu", "us-east-2a", 2, "g6.12xlarge", SECRET), "launcher.create", "+"),
    (actions.AwaitNodegroup(*WHERE, "gpu"), "launcher.attach", "~"),
    (actions.DeleteNodegroup(*WHERE, "gpu", "broken"), "remover.nodegroup", "-"),
    (actions.CreateAddon(*WHERE, "coredns"), "aws.create_addon", "+"),
    (actions.ReplaceAddon(*WHERE, "coredns", "it failed"), "builder.replace_addon", "~"),
    (actions.AssociateOidc(*WHERE), "builder.associate_oidc", "+"),
    (actions.WriteKubeconfig(ACCESS, "kubeconfig"), "kubeconfig.write", "~"),
    (actions.InstallRelease(ACCESS, kuberay(Settings()), SECRET), "releases.install", "+"),
    (actions.AwaitComponent(ACCESS, kuberay(Settings())), "readiness.wait", "~"),
    (actions.RemoveRelease(ACCESS, kuberay(Settings())), "releases.uninstall", "-"),
    (actions.ApplyManifests(ACCESS, "a job", SECRET), "kube.apply", "~"),
    (actions.RunInPod(ACCESS, "slurm", "controller", "start a job", ("sbatch",)), "kube.run", "+"),
    (actions.DeleteWorkload(ACCESS, WorkloadRef("DaemonSet", "kube-system", "efa"), "a rival"), "kube.delete", "-"),
    (actions.DeleteNamed(ACCESS, "namespaces", "volcano-system"), "kube.delete_named", "-"),
    (actions.DeleteObjects(ACCESS, "services"), "kube.delete_all", "-"),
    (actions.RemoveResource(VOLUME), "remover.resource", "-"),
    (actions.MoveExpiry(*WHERE, "2026-12-01T12:00:00+00:00", ("i-1",)), "aws.tag", "~"),
    (actions.ForgetCluster(*WHERE), "placement.remove", "-"),
)


class Hand:
    """Remembers which of its methods was called, and answers with what it was told to."""

    def __init__(self, name: str, calls: list[str], answer: Any = None) -> None:
        self._name, self._calls, self._answer = name, calls, answer

    def __getattr__(self, method: str) -> Any:
        def call(*arguments: object) -> Any:
            self._calls.append(f"{self._name}.{method}")
            return self._answer

        return call


LEAVE = actions.LeaveRegion("us-east-2", "us-west-2", "no zone has room")  # done by whoever runs the stages


def hands(calls: list[str]) -> dict[str, Any]:
    names = (
        "prover",
        "builder",
        "launcher",
        "remover",
        "aws",
        "releases",
        "kube",
        "readiness",
        "kubeconfig",
        "placement",
    )
    return {name: Hand(name, calls) for name in names} | {
        "prober": Hand("prober", calls, (ProbeOutcome(ORDER, START),)),
        "ledger": ProbeLedger(),
    }


def test_every_action_there_is_stands_in_the_table() -> None:
    assert {type(action) for action, _, _ in ACTIONS} | {type(LEAVE)} == set(get_args(Action))


def test_leaving_a_region_ends_the_round_and_touches_nothing() -> None:
    calls: list[str] = []
    with pytest.raises(RegionExhaustedError, match="leave us-east-2 for us-west-2") as caught:
        executor(**hands(calls)).execute(LEAVE, Recorder().tell)
    assert (caught.value.region, caught.value.onward, caught.value.exit_code) == ("us-east-2", "us-west-2", 3)
    assert calls == []


@pytest.mark.parametrize(("action", "hand", "mark"), ACTIONS, ids=lambda one: type(one).__name__)
def test_an_action_reaches_its_hand_after_its_intent(action: Action, hand: str, mark: str) -> None:
    calls: list[str] = []
    journal = FakeJournal(calls)
    executor(**hands(calls), journal=journal).execute(action, Recorder().tell)
    assert calls[0] == f"intended {type(action).__name__}: {action}"
    assert hand in calls
    assert calls[-1] == f"done {type(action).__name__}"
    assert action.effect is Effect(mark)


@pytest.mark.parametrize(("action", "hand", "mark"), ACTIONS, ids=lambda one: type(one).__name__)
def test_a_plan_line_shows_no_rendered_file(action: Action, hand: str, mark: str) -> None:
    assert SECRET not in str(action) + repr(action)
    assert str(action)


def test_the_journal_keeps_plain_facts_and_no_rendered_file() -> None:
    kept: list[dict[str, str]] = []

    class Keeping(FakeJournal):
        def effect(self, name: str, facts: Any) -> Any:
            kept.append(dict(facts))
            return super().effect(name, facts)

    for action, _, _ in ACTIONS:
        executor(**hands([]), journal=Keeping()).execute(action, Recorder().tell)
    assert SECRET not in str(kept)
    assert {"region", "cluster", "nodegroup", "zone", "line"} <= kept[7].keys()


def test_a_failure_reaches_the_caller_and_the_journal_does_not_call_it_done() -> None:
    class Broken:
        def create_addon(self, region: str, cluster: str, addon: str) -> None:
            raise ToolFailedError("no")

    journal = FakeJournal()
    with pytest.raises(ToolFailedError):
        executor(aws=Broken(), journal=journal).execute(actions.CreateAddon(*WHERE, "coredns"), Recorder().tell)
    assert journal.lines == ["intended CreateAddon: add coredns"]


def test_the_placement_file_says_where_the_kubeconfig_is() -> None:
    placements = FakePlacements(Placement(region="us-east-2"))
    kubeconfig = Hand("kubeconfig", [], "/home/ada/kubeconfig")
    write = actions.WriteKubeconfig(ACCESS, "kubeconfig")
    for _ in range(2):
        executor(kubeconfig=kubeconfig, placement=placements).execute(write, Recorder().tell)
    assert placements.kept == Placement(region="us-east-2", kubeconfig="/home/ada/kubeconfig")
    assert placements.saves == 1


def test_probes_are_read_back_from_the_ledger_and_the_newest_counts() -> None:
    ledger = ProbeLedger()
    first, second = ProbeOutcome(ORDER, START, reservation_id="cr-1"), ProbeOutcome(ORDER, START, reservation_id="cr-2")
    ledger.record((first,))
    ledger.record((second,))
    assert ledger.outcomes() == (second,)
