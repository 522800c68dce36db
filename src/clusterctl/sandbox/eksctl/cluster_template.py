"""The template of `eksctl-NAME-cluster`: network, security groups, role and control plane."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.config import DEFAULT_CIDR

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.config import ClusterConfig

_ANYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, slots=True)
class SubnetPlan:
    """A subnet: `kind` is Public or Private. `subnet_id` is set when it exists already."""

    kind: str
    zone: str
    cidr: str = ""
    subnet_id: str = ""

    @property
    def suffix(self) -> str:
        return f"{self.kind}{self.zone.upper().replace('-', '')}"


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """The subnets of a cluster, in a VPC of its own unless `vpc_id` names one."""

    subnets: list[SubnetPlan]
    cidr: str = DEFAULT_CIDR
    vpc_id: str = ""

    def of_kind(self, kind: str) -> list[SubnetPlan]:
        return [one for one in self.subnets if one.kind == kind]


def split_network(cidr: str, zones: list[str]) -> NetworkPlan:
    """A public and a private subnet for each zone: public ones first, a /16 giving /19s up to four zones."""
    step = 3 if 2 * len(zones) <= 8 else 4
    blocks = [str(block) for block in ipaddress.ip_network(cidr).subnets(prefixlen_diff=step)]
    public = [SubnetPlan("Public", zone, blocks[index]) for index, zone in enumerate(zones)]
    private = [SubnetPlan("Private", zone, blocks[index + len(zones)]) for index, zone in enumerate(zones)]
    return NetworkPlan(public + private, cidr)


@dataclass(slots=True)
class _Draft:
    config: ClusterConfig
    network: NetworkPlan
    resources: dict[str, Any] = field(default_factory=dict)

    def add(self, logical_id: str, kind: str, **properties: Any) -> dict[str, str]:
        entry: dict[str, Any] = {"Type": f"AWS::{kind}", "Properties": properties}
        if _taggable(kind):
            entry["Properties"]["Tags"] = [_name_tag(logical_id), *properties.get("Tags", [])]
        self.resources[logical_id] = entry
        return {"Ref": logical_id}

    @property
    def vpc(self) -> Any:
        return self.network.vpc_id or {"Ref": "VPC"}

    def subnet_refs(self, kind: str) -> list[Any]:
        return [one.subnet_id or {"Ref": f"Subnet{one.suffix}"} for one in self.network.of_kind(kind)]


def _taggable(kind: str) -> bool:
    return kind.startswith(("EC2::", "IAM::")) and not kind.endswith(
        ("Route", "Attachment", "Association", "Ingress", "Egress")
    )


def _name_tag(logical_id: str) -> dict[str, Any]:
    return {"Key": "Name", "Value": {"Fn::Sub": f"${{AWS::StackName}}/{logical_id}"}}


def cluster_template(config: ClusterConfig, network: NetworkPlan, rehearsal: str = "") -> dict[str, Any]:
    """The whole template. `rehearsal` is a fault that the control plane acts out."""
    draft = _Draft(config, network)
    if not network.vpc_id:
        _add_network(draft)
    _add_groups(draft)
    _add_role(draft)
    _add_control_plane(draft, rehearsal)
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "EKS cluster (dedicated VPC: true, dedicated IAM: true) [created and managed by eksctl]",
        "Resources": draft.resources,
        "Outputs": _outputs(draft),
    }


def _add_network(draft: _Draft) -> None:
    draft.add("VPC", "EC2::VPC", CidrBlock=draft.network.cidr, EnableDnsHostnames=True, EnableDnsSupport=True)
    draft.add("InternetGateway", "EC2::InternetGateway")
    gateway = {"Ref": "InternetGateway"}
    draft.add("VPCGatewayAttachment", "EC2::VPCGatewayAttachment", InternetGatewayId=gateway, VpcId=draft.vpc)
    table = draft.add("PublicRouteTable", "EC2::RouteTable", VpcId=draft.vpc)
    draft.add("PublicSubnetRoute", "EC2::Route", RouteTableId=table, DestinationCidrBlock=_ANYWHERE, GatewayId=gateway)
    draft.resources["PublicSubnetRoute"]["DependsOn"] = ["VPCGatewayAttachment"]
    for subnet in draft.network.subnets:
        _add_subnet(draft, subnet)
    _add_nat(draft)


def _add_subnet(draft: _Draft, subnet: SubnetPlan) -> None:
    public = subnet.kind == "Public"
    role = "kubernetes.io/role/elb" if public else "kubernetes.io/role/internal-elb"
    extra = {"MapPublicIpOnLaunch": True} if public else {}
    reference = draft.add(
        f"Subnet{subnet.suffix}",
        "EC2::Subnet",
        AvailabilityZone=subnet.zone,
        CidrBlock=subnet.cidr,
        VpcId=draft.vpc,
        Tags=[{"Key": role, "Value": "1"}],
        **extra,
    )
    table = {"Ref": "PublicRouteTable"}
    if not public:
        name = f"PrivateRouteTable{subnet.zone.upper().replace('-', '')}"
        table = draft.add(name, "EC2::RouteTable", VpcId=draft.vpc)
    association = f"RouteTableAssociation{subnet.suffix}"
    draft.add(association, "EC2::SubnetRouteTableAssociation", RouteTableId=table, SubnetId=reference)


def _add_nat(draft: _Draft) -> None:
    if draft.config.nat == "Disable":
        return
    highly_available = draft.config.nat == "HighlyAvailable"
    public = draft.network.of_kind("Public")
    for subnet in public if highly_available else public[:1]:
        suffix = subnet.zone.upper().replace("-", "") if highly_available else ""
        draft.add(f"NATIP{suffix}", "EC2::EIP", Domain="vpc")
        draft.resources[f"NATIP{suffix}"]["DependsOn"] = ["VPCGatewayAttachment"]
        address = {"Fn::GetAtt": [f"NATIP{suffix}", "AllocationId"]}
        where = {"Ref": f"Subnet{subnet.suffix}"}
        draft.add(f"NATGateway{suffix}", "EC2::NatGateway", AllocationId=address, SubnetId=where)
    for subnet in draft.network.of_kind("Private"):
        zone = subnet.zone.upper().replace("-", "")
        draft.add(
            f"NATPrivateSubnetRoute{zone}",
            "EC2::Route",
            RouteTableId={"Ref": f"PrivateRouteTable{zone}"},
            DestinationCidrBlock=_ANYWHERE,
            NatGatewayId={"Ref": f"NATGateway{zone if highly_available else ''}"},
        )


def _add_groups(draft: _Draft) -> None:
    control = "Communication between the control plane and worker nodegroups"
    draft.add("ControlPlaneSecurityGroup", "EC2::SecurityGroup", GroupDescription=control, VpcId=draft.vpc)
    shared = draft.add(
        "ClusterSharedNodeSecurityGroup",
        "EC2::SecurityGroup",
        GroupDescription="Communication between all nodes in the cluster",
        VpcId=draft.vpc,
    )
    built_in = {"Fn::GetAtt": ["ControlPlane", "ClusterSecurityGroupId"]}
    pairs = {
        "IngressInterNodeGroupSG": (shared, shared),
        "IngressDefaultClusterToNodeSG": (shared, built_in),
        "IngressNodeToDefaultClusterSG": (built_in, shared),
    }
    for name, (group, source) in pairs.items():
        draft.add(
            name,
            "EC2::SecurityGroupIngress",
            GroupId=group,
            SourceSecurityGroupId=source,
            IpProtocol="-1",
            FromPort=0,
            ToPort=65535,
        )


def _add_role(draft: _Draft) -> None:
    policies = ["AmazonEKSClusterPolicy", "AmazonEKSVPCResourceController"]
    draft.add(
        "ServiceRole",
        "IAM::Role",
        AssumeRolePolicyDocument=assume_role("eks.amazonaws.com"),
        ManagedPolicyArns=[{"Fn::Sub": f"arn:${{AWS::Partition}}:iam::aws:policy/{name}"} for name in policies],
    )


def assume_role(service: str) -> dict[str, Any]:
    """The trust of a role that a service may take."""
    statement = {"Action": ["sts:AssumeRole"], "Effect": "Allow", "Principal": {"Service": [service]}}
    return {"Version": "2012-10-17", "Statement": [statement]}


def _add_control_plane(draft: _Draft, rehearsal: str) -> None:
    config = draft.config
    networking = {
        "SubnetIds": [*draft.subnet_refs("Public"), *draft.subnet_refs("Private")],
        "SecurityGroupIds": [{"Ref": "ControlPlaneSecurityGroup"}],
        "EndpointPublicAccess": config.endpoints["public"],
        "EndpointPrivateAccess": config.endpoints["private"],
        "PublicAccessCidrs": config.vpc.get("publicAccessCIDRs") or [_ANYWHERE],
    }
    access = {
        "AuthenticationMode": config.access.get("authenticationMode") or "API_AND_CONFIG_MAP",
        "BootstrapClusterCreatorAdminPermissions": config.access.get("bootstrapClusterCreatorAdminPermissions", True),
    }
    draft.add(
        "ControlPlane",
        "EKS::Cluster",
        Name=config.name,
        Version=config.version,
        RoleArn={"Fn::GetAtt": ["ServiceRole", "Arn"]},
        ResourcesVpcConfig=networking,
        AccessConfig=access,
        BootstrapSelfManagedAddons=False,
        Logging={"ClusterLogging": {"EnabledTypes": [{"Type": one} for one in _log_types(config)]}},
        Tags=[_name_tag("ControlPlane")],
    )
    if rehearsal:
        draft.resources["ControlPlane"]["Metadata"] = {"Rehearsal": rehearsal}


def _log_types(config: ClusterConfig) -> list[str]:
    wanted = config.logging.get("enableTypes") or []
    everything = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
    return everything if {"*", "all"} & set(wanted) else list(wanted)


def _outputs(draft: _Draft) -> dict[str, Any]:
    plane = {name: {"Fn::GetAtt": ["ControlPlane", name]} for name in ("Arn", "Endpoint", "ClusterSecurityGroupId")}
    values = {
        "ARN": plane["Arn"],
        "CertificateAuthorityData": {"Fn::GetAtt": ["ControlPlane", "CertificateAuthorityData"]},
        "ClusterSecurityGroupId": plane["ClusterSecurityGroupId"],
        "ClusterStackName": {"Ref": "AWS::StackName"},
        "Endpoint": plane["Endpoint"],
        "FeatureNATMode": draft.config.nat,
        "SecurityGroup": {"Ref": "ControlPlaneSecurityGroup"},
        "ServiceRoleARN": {"Fn::GetAtt": ["ServiceRole", "Arn"]},
        "SharedNodeSecurityGroup": {"Ref": "ClusterSharedNodeSecurityGroup"},
        "VPC": draft.vpc,
    }
    for kind in ("Private", "Public"):
        if references := draft.subnet_refs(kind):
            values[f"Subnets{kind}"] = {"Fn::Join": [",", references]}
    shared = {name: {"Name": {"Fn::Sub": f"${{AWS::StackName}}::{name}"}} for name in values}
    unexported = {"CertificateAuthorityData", "ClusterStackName", "Endpoint", "FeatureNATMode"}
    return {
        name: {"Value": value} | ({} if name in unexported else {"Export": shared[name]})
        for name, value in values.items()
    }
