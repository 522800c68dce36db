"""One run of a command: AWS, the log, and the patience."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl import VERSION
from clusterctl.sandbox.eksctl.aws import Aws, AwsError, segment
from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.stacks import Stacks

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.config import NodegroupConfig
    from clusterctl.sandbox.eksctl.output import Console

DEFAULT_TIMEOUT_S = 1500.0
_IN_TRANSIT = frozenset({"CREATING", "DELETING", "FAILED"})


@dataclass(frozen=True, slots=True)
class Session:
    """What every command works with. `timeout_s` bounds each wait, in simulated seconds."""

    aws: Aws
    console: Console
    timeout_s: float = DEFAULT_TIMEOUT_S

    @classmethod
    def begin(cls, region: str, console: Console, timeout_s: float = DEFAULT_TIMEOUT_S) -> Session:
        """Find AWS and check who we are. Raises EksctlError."""
        session = cls(Aws.from_environment(region), console, timeout_s)
        console.info(f"eksctl version {VERSION}")
        console.info(f"using region {region}")
        try:
            session.aws.query("sts", "GetCallerIdentity")
        except AwsError as problem:
            text = "checking AWS STS access – cannot get role ARN for current session"
            raise EksctlError(f"{text}: {problem}") from problem
        return session

    @property
    def stacks(self) -> Stacks:
        return Stacks(self.aws, self.console, self.timeout_s)

    def find_cluster(self, name: str) -> dict[str, Any] | None:
        """DescribeCluster, or None where there is none."""
        try:
            cluster: dict[str, Any] = self.aws.eks("GET", f"/clusters/{segment(name)}")["cluster"]
        except AwsError as problem:
            if problem.code == "ResourceNotFoundException":
                return None
            raise
        return cluster

    def operable_cluster(self, name: str) -> dict[str, Any]:
        """A cluster whose API can be asked. Raises EksctlError otherwise."""
        cluster = self.find_cluster(name)
        if cluster is None:
            raise EksctlError(
                f'getting cluster "{name}": ResourceNotFoundException: No cluster found for name: {name}.'
            )
        if cluster["status"] in _IN_TRANSIT:
            raise EksctlError(
                f'cannot perform Kubernetes API operations on cluster "{name}" in "{self.aws.region}" region'
                f' due to status "{cluster["status"]}"'
            )
        return cluster

    def nodegroup_names(self, cluster: str) -> list[str]:
        """The node groups that EKS lists, in any status."""
        return list(self.aws.eks("GET", f"/clusters/{segment(cluster)}/node-groups").get("nodegroups") or [])

    def nodegroup(self, cluster: str, name: str) -> dict[str, Any] | None:
        """DescribeNodegroup, or None."""
        try:
            found: dict[str, Any] = self.aws.eks("GET", f"/clusters/{segment(cluster)}/node-groups/{segment(name)}")[
                "nodegroup"
            ]
        except AwsError as problem:
            if problem.code == "ResourceNotFoundException":
                return None
            raise
        return found

    def fault(self, command: str, cluster: str, nodegroup: NodegroupConfig | None = None) -> str:
        """The outcome that the scenario wants for this command, or ""."""
        zone = nodegroup.zones[0] if nodegroup and nodegroup.zones else self._subnet_zone(nodegroup)
        kind = nodegroup.instance_types[0] if nodegroup else None
        name = nodegroup.name if nodegroup else cluster
        fault = self.aws.take_fault(f"eksctl:{command}", zone=zone, instance_type=kind, name=name)
        return str((fault or {}).get("outcome") or "")

    def _subnet_zone(self, nodegroup: NodegroupConfig | None) -> str | None:
        if nodegroup is None or not nodegroup.subnets:
            return None
        filters = [{"Name": "subnet-id", "Value": nodegroup.subnets[:1]}]
        rows = self.aws.query("ec2", "DescribeSubnets", Filter=filters).get("subnetSet") or []
        return rows[0]["availabilityZone"] if rows else None

    def hang(self) -> None:
        """Wait as long as patience lasts."""
        self.console.wait_until(lambda: False, self.timeout_s, every_s=60.0)
