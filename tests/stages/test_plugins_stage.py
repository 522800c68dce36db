"""The plugins stage against real tools and simulated machines: done means that every device is on offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from clusterctl.engine.executor import Executor, Hands
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline, RunResult
from clusterctl.errors import UsageError, VerificationError
from clusterctl.model.capacity import Candidate, Source, Verdict
from clusterctl.model.cluster import ClusterState, NodegroupState
from clusterctl.model.decision import Decision
from clusterctl.model.instances import InstanceType
from clusterctl.model.settings import Settings
from clusterctl.model.verification import FailedVerificationError, Verification
from clusterctl.stages.kuberay import KuberayStage
from clusterctl.stages.plugins import PluginsStage
from clusterctl.stages.verify import VerifyStage
from local_kube import CLUSTER, REGION, Cluster, eventually, gpu_machine, running_cluster

pytestmark = pytest.mark.sandbox

G6 = InstanceType("g6.12xlarge", vcpus=48, memory_mib=196608, gpus=4, gpu_name="L4", efa_interfaces=1)
PLACE = Candidate(
    region=REGION, zone="us-east-2b", zone_id="use2-az2", instance_type="g6.12xlarge", nodes=2, offered=True,
    quota=None, needed_vcpus=96, spot_score=None, subnet="yes", source=Source.UNPROBED, verdict=Verdict.AVAILABLE,
    reason="", hourly_usd=9.2,
)  # fmt: skip
GROUP = NodegroupState(
    REGION, CLUSTER, "gpu", "ACTIVE", instance_type="g6.12xlarge", zones=("us-east-2b",), desired=2, instances=2
)
EKSCTLS_EFA = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: aws-efa-k8s-device-plugin, namespace: kube-system}
spec:
  selector: {matchLabels: {name: aws-efa-k8s-device-plugin}}
  template:
    metadata: {labels: {name: aws-efa-k8s-device-plugin}}
    spec:
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - {key: node.kubernetes.io/instance-type, operator: In, values: [p4d.24xlarge]}
      containers:
      - {name: plugin, image: "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.4"}
"""
TERMS = "/spec/template/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
NARROWED = f'[{{"op":"replace","path":"{TERMS}/0/matchExpressions/0/values","value":["p4d.24xlarge"]}}]'


class NoJournal:
    """Remembers nothing."""

    @contextmanager
    def effect(self, name: str, facts: Mapping[str, str]) -> Iterator[None]:
        yield

    def unsettled(self) -> tuple[Mapping[str, str], ...]:
        return ()

    def clear(self) -> None: ...


@dataclass
class Bench:
    """The stages over one local cluster; time passes as fast as the cluster's own."""

    cluster: Cluster
    nodes: int = 2
    patience_s: float = 600
    group: NodegroupState = GROUP
    events: list[Any] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        self.cluster.kube.clock.sleep(seconds * 4)  # looks cost real time, the simulation's minutes hardly any

    def inputs(self) -> Outputs:
        access = self.cluster.access
        state = ClusterState(
            REGION, CLUSTER, "ACTIVE", endpoint=access.endpoint, certificate_authority=access.certificate_authority
        )
        decision = Decision((replace(PLACE, nodes=self.nodes),), kinds={"g6.12xlarge": G6})
        outputs = Outputs().with_value(state).with_value(replace(self.group, desired=self.nodes))
        return outputs.with_value(decision)

    @property
    def plugins(self) -> PluginsStage:
        return PluginsStage(Settings(), self.cluster.kubectl, self.cluster.releases, patience_s=self.patience_s)

    def apply(self, *more: Any) -> RunResult:
        hands = dict.fromkeys(Hands.__dataclass_fields__)
        hands |= {"releases": self.cluster.releases, "kube": self.cluster.kubectl, "journal": NoJournal()}  # type: ignore[dict-item]
        executor = Executor(Hands(**cast("dict[str, Any]", hands)))
        stages = (self.plugins, *more)
        return Pipeline(stages, executor, self, self.events.append).apply(self.inputs())


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with running_cluster(tmp_path) as cluster:
        yield Bench(cluster)


@contextmanager
def machines(folder: Path, *found: Any, faults: Any = ()) -> Iterator[Cluster]:
    with running_cluster(folder, found, faults) as cluster:
        eventually(lambda: cluster.kubectl.nodes(cluster.access), lambda seen: len(seen) == 2 + len(found))
        yield cluster


def test_a_fresh_cluster_ends_verified_and_a_second_run_changes_nothing(bench: Bench) -> None:
    stages = (
        VerifyStage(bench.cluster.kubectl),
        KuberayStage(Settings(), bench.cluster.kubectl, bench.cluster.releases),
    )
    first = bench.apply(*stages)
    assert first.error is None
    assert {one.name: one.status for one in first.stages} == {
        "plugins": "done", "kuberay": "done", "verify": "unchanged"
    }  # fmt: skip
    verification = first.outputs[Verification]
    assert [(node.gpus, node.efa) for node in verification.nodes] == [(4, 1), (4, 1)]
    second = bench.apply(*stages)
    assert {one.status for one in second.stages} == {"unchanged"}
    assert not any(one.actions for one in second.stages)


def test_eksctls_plugin_that_misses_the_type_is_replaced_by_ours(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.kubectl.apply(cluster.access, EKSCTLS_EFA)
    result = bench.apply()
    assert result.error is None
    lines = result.stages[0].actions
    assert any("delete daemonset/aws-efa-k8s-device-plugin" in line and "eksctl" in line for line in lines)
    [plugin] = [one for one in cluster.kubectl.objects(cluster.access, "daemonsets")
                if one["metadata"]["name"] == "aws-efa-k8s-device-plugin"]  # fmt: skip
    assert plugin["metadata"]["annotations"]["meta.helm.sh/release-name"] == "aws-efa-k8s-device-plugin"


def test_a_plugin_that_a_hand_has_narrowed_is_put_right(bench: Bench) -> None:
    assert bench.apply().error is None
    cluster = bench.cluster
    cluster.session.run(
        cluster.kubectl_tool, cluster.access,
        ("patch", "daemonset", "aws-efa-k8s-device-plugin", "-n", "kube-system", "--type=json", "-p", NARROWED),
        timeout_s=60,
    )  # fmt: skip
    eventually(lambda: {node.efa for node in cluster.kubectl.nodes(cluster.access)}, lambda seen: seen == {0})
    result = bench.apply()
    assert result.error is None
    assert any("does not list g6.12xlarge" in line for line in result.stages[0].actions)


def test_any_taint_of_the_group_is_tolerated(tmp_path: Path) -> None:
    taints = ({"key": "nvidia.com/gpu", "value": "other", "effect": "NoExecute"},
              {"key": "dedicated", "value": "llm", "effect": "NoSchedule"})  # fmt: skip
    group = replace(GROUP, taints=tuple((one["key"], one["value"], one["effect"]) for one in taints))
    with machines(tmp_path, gpu_machine(11, taints=taints)) as cluster:
        assert Bench(cluster, nodes=1, group=group).apply().error is None


def test_nodes_without_a_driver_fail_the_stage_with_the_cause(tmp_path: Path) -> None:
    with machines(tmp_path, gpu_machine(11, ami_type="AL2023_x86_64_STANDARD")) as cluster:
        result = Bench(cluster, nodes=1, patience_s=45).apply()
    assert isinstance(result.error, VerificationError)
    assert "driver" in result.error.message
    assert result.stages[0].status == "failed"


def test_nodes_launched_without_efa_fail_the_stage_with_the_cause(tmp_path: Path) -> None:
    with machines(tmp_path, gpu_machine(11, efa_interfaces=0)) as cluster:
        result = Bench(cluster, nodes=1, patience_s=45).apply()
    assert isinstance(result.error, VerificationError)
    assert "without EFA interfaces" in result.error.details
    assert "clusterctl nodegroup" in result.error.hint


def test_a_missing_label_is_said_at_once_with_the_command_that_sets_it(tmp_path: Path) -> None:
    labels = {"role": "gpu-worker", "eks.amazonaws.com/nodegroup": "gpu"}
    with machines(tmp_path, gpu_machine(11, labels=labels)) as cluster:
        result = Bench(cluster, nodes=1).apply()
    assert isinstance(result.error, VerificationError)
    assert "nvidia.com/gpu.present" in result.error.message
    assert "nvidia.com/gpu.present=true" in result.error.hint


def test_a_daemonset_that_stays_at_desired_0_is_not_taken_for_ready(tmp_path: Path) -> None:
    fault = {"on": "kube:daemonset/aws-efa-k8s-device-plugin", "outcome": "never-scheduled", "times": "always"}
    with machines(tmp_path, gpu_machine(11), faults=[fault]) as cluster:
        result = Bench(cluster, nodes=1, patience_s=45).apply()
    assert isinstance(result.error, VerificationError)
    assert "DESIRED 0" in result.error.message


def test_a_release_of_somebody_else_in_our_place_is_left_alone(bench: Bench) -> None:
    cluster = bench.cluster
    theirs = EKSCTLS_EFA.replace(
        "namespace: kube-system}", 'namespace: kube-system, annotations: {meta.helm.sh/release-name: "theirs"}}', 1
    )
    cluster.kubectl.apply(cluster.access, theirs)
    result = bench.apply()
    assert isinstance(result.error, UsageError)
    assert "theirs" in result.error.message


def test_a_node_too_few_fails_the_verification_and_carries_the_numbers(tmp_path: Path) -> None:
    with machines(tmp_path, gpu_machine(11)) as cluster:
        bench = Bench(cluster, nodes=1)
        result = bench.apply(VerifyStage(cluster.kubectl, expect_nodes=2, patience_s=15))
    assert isinstance(result.error, FailedVerificationError)
    assert result.error.exit_code == 5
    assert result.error.verification.expected.nodes == 2
    assert "1 of 2 nodes" in result.error.message
