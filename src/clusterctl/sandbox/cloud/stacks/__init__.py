"""CloudFormation over simulated time: events in order, roll-backs, and deletions that get stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.cloud.stacks import compute, network, security

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.nodegroups import NodegroupKeeper
    from clusterctl.sandbox.cloud.stacks.kinds import ResourceKind


def resource_kinds(keeper: NodegroupKeeper) -> dict[str, ResourceKind]:
    """Every resource type that a stack may have."""
    return {
        "AWS::EC2::VPC": network.Vpc(),
        "AWS::EC2::Subnet": network.Subnet(),
        "AWS::EC2::InternetGateway": network.InternetGateway(),
        "AWS::EC2::VPCGatewayAttachment": network.GatewayAttachment(),
        "AWS::EC2::EIP": network.ElasticIp(),
        "AWS::EC2::NatGateway": network.NatGateway(),
        "AWS::EC2::RouteTable": network.RouteTable(),
        "AWS::EC2::Route": network.Route(),
        "AWS::EC2::SubnetRouteTableAssociation": network.RouteTableAssociation(),
        "AWS::EC2::SecurityGroup": security.SecurityGroup(),
        "AWS::EC2::SecurityGroupIngress": security.IngressRule(),
        "AWS::EC2::SecurityGroupEgress": security.EgressRule(),
        "AWS::IAM::Role": security.Role(),
        "AWS::EC2::LaunchTemplate": compute.LaunchTemplate(),
        "AWS::EC2::PlacementGroup": compute.Placement(),
        "AWS::EKS::Cluster": compute.EksCluster(keeper.clusters),
        "AWS::EKS::Nodegroup": compute.EksNodegroup(keeper),
    }
