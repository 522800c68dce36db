"""Clusters and node groups, as EKS describes them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from datetime import datetime

    from clusterctl.sandbox.cloud.eks.scaling import ScalingGroup

_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}


def _oidc_id() -> str:
    return uuid.uuid4().hex.upper()


@dataclass(slots=True)
class Nodegroup:
    """A managed node group. `scaling` has minSize, maxSize and desiredSize."""

    name: str
    cluster: str
    region: str
    version: str
    role_arn: str
    subnets: list[str]
    created_at: datetime
    created_s: float
    instance_types: list[str]
    ami_type: str
    capacity_type: str
    scaling: dict[str, int]
    labels: dict[str, str]
    taints: list[dict[str, str]]
    tags: dict[str, str]
    launch_template: dict[str, str] | None
    disk_size: int | None = None
    update_config: dict[str, Any] = field(default_factory=lambda: {"maxUnavailable": 1})
    node_repair: dict[str, Any] | None = None
    status: str = "CREATING"
    issues: list[dict[str, Any]] = field(default_factory=list)
    group: ScalingGroup | None = None
    modified_at: datetime | None = None
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def arn(self) -> str:
        return f"arn:aws:eks:{self.region}:{ACCOUNT_ID}:nodegroup/{self.cluster}/{self.name}/{self.uid}"

    @property
    def node_taints(self) -> list[dict[str, str]]:
        """The taints in the words of Kubernetes."""
        return [
            {"key": taint["key"], "value": taint.get("value") or "", "effect": _EFFECTS[taint["effect"]]}
            for taint in self.taints
        ]

    @property
    def node_labels(self) -> dict[str, str]:
        """The labels of its nodes: the user's and those that EKS adds."""
        added = {
            "eks.amazonaws.com/nodegroup": self.name,
            "eks.amazonaws.com/capacityType": self.capacity_type,
        }
        if self.launch_template:
            added["eks.amazonaws.com/sourceLaunchTemplateId"] = self.launch_template["id"]
            added["eks.amazonaws.com/sourceLaunchTemplateVersion"] = self.launch_template["version"]
        return self.labels | added

    def describe(self) -> dict[str, Any]:
        groups = [{"name": self.group.name}] if self.group else []
        return {
            "nodegroupName": self.name,
            "nodegroupArn": self.arn,
            "clusterName": self.cluster,
            "version": self.version,
            "releaseVersion": f"{self.version}.2-20260810",
            "createdAt": self.created_at,
            "modifiedAt": self.modified_at or self.created_at,
            "status": self.status,
            "capacityType": self.capacity_type,
            "scalingConfig": dict(self.scaling),
            "instanceTypes": self.instance_types or None,
            "subnets": self.subnets,
            "amiType": self.ami_type,
            "nodeRole": self.role_arn,
            "labels": self.labels,
            "taints": self.taints,
            "resources": {"autoScalingGroups": groups} if groups else {},
            "diskSize": self.disk_size,
            "health": {"issues": self.issues},
            "updateConfig": self.update_config,
            "nodeRepairConfig": self.node_repair,
            "launchTemplate": self.launch_template,
            "tags": self.tags,
        }


@dataclass(slots=True)
class Cluster:
    """An EKS cluster. `things` holds add-ons, access entries, pod identities and updates by kind and key."""

    name: str
    region: str
    version: str
    role_arn: str
    network: dict[str, Any]
    created_at: datetime
    tags: dict[str, str]
    access: dict[str, Any]
    logging: dict[str, Any]
    upgrade_policy: str = "EXTENDED"
    deletion_protection: bool = False
    status: str = "CREATING"
    endpoint: str = ""
    certificate_authority: str = ""
    security_group: str = ""
    interfaces: list[str] = field(default_factory=list)
    oidc_id: str = field(default_factory=_oidc_id)
    nodegroups: dict[str, Nodegroup] = field(default_factory=dict)
    things: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        return f"arn:aws:eks:{self.region}:{ACCOUNT_ID}:cluster/{self.name}"

    @property
    def issuer(self) -> str:
        return f"https://oidc.eks.{self.region}.amazonaws.com/id/{self.oidc_id}"

    def all_of(self, kind: str) -> dict[str, dict[str, Any]]:
        return self.things.setdefault(kind, {})

    def describe(self) -> dict[str, Any]:
        shown = self.status not in {"CREATING", "PENDING"}
        return {
            "name": self.name,
            "arn": self.arn,
            "createdAt": self.created_at,
            "version": self.version,
            "endpoint": self.endpoint if shown else None,
            "roleArn": self.role_arn,
            "resourcesVpcConfig": self.network | {"clusterSecurityGroupId": self.security_group},
            "kubernetesNetworkConfig": {
                "serviceIpv4Cidr": "10.100.0.0/16",
                "ipFamily": "ipv4",
                "elasticLoadBalancing": {"enabled": False},
            },
            "logging": self.logging,
            "identity": {"oidc": {"issuer": self.issuer}} if shown else None,
            "status": self.status,
            "certificateAuthority": {"data": self.certificate_authority} if shown else {},
            "platformVersion": "eks.9",
            "tags": self.tags,
            "health": {"issues": []},
            "accessConfig": self.access,
            "upgradePolicy": {"supportType": self.upgrade_policy},
            "deletionProtection": self.deletion_protection,
            "computeConfig": {"enabled": False},
        }
