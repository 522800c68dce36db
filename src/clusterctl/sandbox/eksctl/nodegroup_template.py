"""The template of `eksctl-NAME-nodegroup-NG`: role, launch template, placement group and node group."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.cluster_template import assume_role
from clusterctl.sandbox.eksctl.hardware import ami_type

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.config import NodegroupConfig

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}
_NODE_POLICIES = (
    "AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy",
    "AmazonSSMManagedInstanceCore",
)  # fmt: skip
_ADDON_POLICIES = {"ebs": "service-role/AmazonEBSCSIDriverPolicy", "efs": "service-role/AmazonEFSCSIDriverPolicy",
                   "fsx": "AmazonFSxFullAccess", "cloudWatch": "CloudWatchAgentServerPolicy"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodegroupFacts:
    """What AWS said about the node group's surroundings."""

    cluster: str
    version: str
    subnets: list[str]
    cluster_security_group: str
    network_cards: int  # the least over the types; 0 without EFA
    tags: dict[str, str]
    rehearsal: str = ""


def nodegroup_template(nodegroup: NodegroupConfig, facts: NodegroupFacts) -> dict[str, Any]:
    """The whole template."""
    resources: dict[str, Any] = {
        "LaunchTemplate": {
            "Type": "AWS::EC2::LaunchTemplate",
            "Properties": {
                "LaunchTemplateName": {"Ref": "AWS::StackName"},
                "LaunchTemplateData": _template_data(nodegroup, facts),
            },
        },
        "ManagedNodeGroup": {"Type": "AWS::EKS::Nodegroup", "Properties": _managed(nodegroup, facts)},
    }
    if not (nodegroup.raw.get("iam") or {}).get("instanceRoleARN"):
        resources["NodeInstanceRole"] = _role(nodegroup)
    if _wants_group(nodegroup):
        group = {"Strategy": "cluster"}
        resources["NodeGroupPlacementGroup"] = {"Type": "AWS::EC2::PlacementGroup", "Properties": group}
    if facts.rehearsal:
        resources["ManagedNodeGroup"]["Metadata"] = {"Rehearsal": facts.rehearsal}
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "EKS Managed Nodes (SSH access: false) [created by eksctl]",
        "Resources": resources,
    }


def _wants_group(nodegroup: NodegroupConfig) -> bool:
    """EFA brings a placement group of its own, but neither beside a named one nor beside a reservation."""
    return nodegroup.efa and not nodegroup.raw.get("placement") and not nodegroup.reservation


def _role(nodegroup: NodegroupConfig) -> dict[str, Any]:
    wanted = nodegroup.raw.get("iam") or {}
    arns = list(wanted.get("attachPolicyARNs") or [])
    if not arns:
        arns = [{"Fn::Sub": f"arn:${{AWS::Partition}}:iam::aws:policy/{name}"} for name in _NODE_POLICIES]
    for name, policy in _ADDON_POLICIES.items():
        if (wanted.get("withAddonPolicies") or {}).get(name):
            arns.append({"Fn::Sub": f"arn:${{AWS::Partition}}:iam::aws:policy/{policy}"})
    properties: dict[str, Any] = {
        "AssumeRolePolicyDocument": assume_role("ec2.amazonaws.com"),
        "ManagedPolicyArns": arns,
        "Path": "/",
        "Tags": [{"Key": "Name", "Value": {"Fn::Sub": "${AWS::StackName}/NodeInstanceRole"}}],
    }
    if wanted.get("instanceRoleName"):
        properties["RoleName"] = wanted["instanceRoleName"]
    return {"Type": "AWS::IAM::Role", "Properties": properties}


def _template_data(nodegroup: NodegroupConfig, facts: NodegroupFacts) -> dict[str, Any]:
    data: dict[str, Any] = {
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": _volume(nodegroup)}],
        "MetadataOptions": {"HttpPutResponseHopLimit": 2, "HttpTokens": "required"},
        "TagSpecifications": _tag_specifications(nodegroup, facts),
    }
    groups = [facts.cluster_security_group, *((nodegroup.raw.get("securityGroups") or {}).get("attachIDs") or [])]
    if facts.network_cards:
        data["NetworkInterfaces"] = [_efa_interface(card, groups) for card in range(facts.network_cards)]
    else:
        data["SecurityGroupIds"] = groups
    named = (nodegroup.raw.get("placement") or {}).get("groupName")
    if named:
        data["Placement"] = {"GroupName": named}
    elif _wants_group(nodegroup):
        data["Placement"] = {"GroupName": {"Ref": "NodeGroupPlacementGroup"}}
    commands: Any = nodegroup.raw.get("preBootstrapCommands") or nodegroup.raw.get("overrideBootstrapCommand")
    if commands:
        text = commands if isinstance(commands, str) else "\n".join(commands)
        data["UserData"] = base64.b64encode(text.encode()).decode()
    return data | _capacity(nodegroup)


def _capacity(nodegroup: NodegroupConfig) -> dict[str, Any]:
    found: dict[str, Any] = {}
    wanted = nodegroup.reservation
    target = wanted.get("capacityReservationTarget")
    if preference := wanted.get("capacityReservationPreference"):
        found["CapacityReservationSpecification"] = {"CapacityReservationPreference": preference}
    if target is not None:
        names = {
            "CapacityReservationId": target.get("capacityReservationID"),
            "CapacityReservationResourceGroupArn": target.get("capacityReservationResourceGroupARN"),
        }
        chosen = {key: value for key, value in names.items() if value}
        found["CapacityReservationSpecification"] = {"CapacityReservationTarget": chosen}
    if nodegroup.market:
        found["InstanceMarketOptions"] = {"MarketType": nodegroup.market}
        found["InstanceType"] = nodegroup.instance_types[0]
    return found


def _efa_interface(card: int, groups: list[str]) -> dict[str, Any]:
    return {
        "Description": f"EFA interface of card {card}",
        "DeviceIndex": min(card, 1),
        "NetworkCardIndex": card,
        "InterfaceType": "efa",
        "Groups": groups,
        "DeleteOnTermination": True,
    }


def _volume(nodegroup: NodegroupConfig) -> dict[str, Any]:
    raw = nodegroup.raw
    volume: dict[str, Any] = {
        "VolumeSize": raw.get("volumeSize") or 80,
        "VolumeType": raw.get("volumeType") or "gp3",
        "Iops": raw.get("volumeIOPS") or 3000,
        "Throughput": raw.get("volumeThroughput") or 125,
    }
    if raw.get("volumeEncrypted"):
        volume["Encrypted"] = True
    return volume


def _tag_specifications(nodegroup: NodegroupConfig, facts: NodegroupFacts) -> list[dict[str, Any]]:
    own = {
        "Name": f"{facts.cluster}-{nodegroup.name}-Node",
        "alpha.eksctl.io/nodegroup-name": nodegroup.name,
        "alpha.eksctl.io/nodegroup-type": "managed",
    }
    tags = [{"Key": key, "Value": value} for key, value in (facts.tags | own).items()]
    return [{"ResourceType": kind, "Tags": tags} for kind in ("instance", "volume", "network-interface")]


def _managed(nodegroup: NodegroupConfig, facts: NodegroupFacts) -> dict[str, Any]:
    sizes = nodegroup.sizes
    labels = {"alpha.eksctl.io/cluster-name": facts.cluster, "alpha.eksctl.io/nodegroup-name": nodegroup.name}
    properties: dict[str, Any] = {
        "ClusterName": facts.cluster,
        "NodegroupName": nodegroup.name,
        "ScalingConfig": {
            "MinSize": sizes["minSize"],
            "MaxSize": sizes["maxSize"],
            "DesiredSize": sizes["desiredSize"],
        },
        "Subnets": facts.subnets,
        "AmiType": ami_type(nodegroup.ami_family, nodegroup.instance_types),
        "NodeRole": _role_reference(nodegroup),
        "Labels": labels | nodegroup.labels,
        "Tags": facts.tags | (nodegroup.raw.get("tags") or {}) | _eksctl_tags(nodegroup),
        "LaunchTemplate": {"Id": {"Ref": "LaunchTemplate"}},
        "CapacityType": _capacity_type(nodegroup),
    }
    if not nodegroup.market:
        properties["InstanceTypes"] = nodegroup.instance_types
    if nodegroup.taints:
        properties["Taints"] = [_taint(one) for one in nodegroup.taints]
    return properties


def _role_reference(nodegroup: NodegroupConfig) -> Any:
    given = (nodegroup.raw.get("iam") or {}).get("instanceRoleARN")
    return given or {"Fn::GetAtt": ["NodeInstanceRole", "Arn"]}


def _eksctl_tags(nodegroup: NodegroupConfig) -> dict[str, str]:
    return {"alpha.eksctl.io/nodegroup-name": nodegroup.name, "alpha.eksctl.io/nodegroup-type": "managed"}


def _capacity_type(nodegroup: NodegroupConfig) -> str:
    if nodegroup.market:
        return "CAPACITY_BLOCK"
    return "SPOT" if nodegroup.raw.get("spot") else "ON_DEMAND"


def _taint(taint: dict[str, str]) -> dict[str, str]:
    return {"Key": taint["key"], "Value": taint.get("value", ""), "Effect": _EFFECTS[taint["effect"]]}
