"""What CloudFormation calls, as the caller, to make and to remove each type of resource in eksctl's stacks."""

from __future__ import annotations

MAKING = {
    "EC2::VPC": "ec2:CreateVpc ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:ModifyVpcAttribute ec2:CreateTags",
    "EC2::Subnet": "ec2:CreateSubnet ec2:ModifySubnetAttribute ec2:DescribeSubnets ec2:CreateTags",
    "EC2::InternetGateway": "ec2:CreateInternetGateway ec2:DescribeInternetGateways ec2:CreateTags",
    "EC2::VPCGatewayAttachment": "ec2:AttachInternetGateway",
    "EC2::RouteTable": "ec2:CreateRouteTable ec2:DescribeRouteTables ec2:CreateTags",
    "EC2::Route": "ec2:CreateRoute",
    "EC2::SubnetRouteTableAssociation": "ec2:AssociateRouteTable",
    "EC2::EIP": "ec2:AllocateAddress ec2:DescribeAddresses ec2:CreateTags",
    "EC2::NatGateway": "ec2:CreateNatGateway ec2:DescribeNatGateways ec2:CreateTags",
    "EC2::SecurityGroup": "ec2:CreateSecurityGroup ec2:DescribeSecurityGroups ec2:CreateTags",
    "EC2::SecurityGroupIngress": "ec2:AuthorizeSecurityGroupIngress ec2:DescribeSecurityGroupRules",
    "EC2::LaunchTemplate": "ec2:CreateLaunchTemplate ec2:DescribeLaunchTemplates ec2:CreateTags",
    "EC2::PlacementGroup": "ec2:CreatePlacementGroup ec2:DescribePlacementGroups ec2:CreateTags",
    "IAM::Role": "iam:CreateRole iam:GetRole iam:TagRole iam:AttachRolePolicy "
    "iam:ListRolePolicies iam:ListAttachedRolePolicies",
    "EKS::Cluster": "eks:CreateCluster eks:DescribeCluster eks:TagResource iam:PassRole iam:CreateServiceLinkedRole",
    "EKS::Nodegroup": "eks:CreateNodegroup eks:DescribeNodegroup eks:TagResource iam:PassRole "
    "iam:CreateServiceLinkedRole ec2:RunInstances ec2:CreateTags",
}
REMOVING = {
    "EC2::VPC": "ec2:DeleteVpc ec2:DescribeVpcs",
    "EC2::Subnet": "ec2:DeleteSubnet ec2:DescribeSubnets",
    "EC2::InternetGateway": "ec2:DeleteInternetGateway ec2:DescribeInternetGateways",
    "EC2::VPCGatewayAttachment": "ec2:DetachInternetGateway",
    "EC2::RouteTable": "ec2:DeleteRouteTable",
    "EC2::Route": "ec2:DeleteRoute",
    "EC2::SubnetRouteTableAssociation": "ec2:DisassociateRouteTable",
    "EC2::EIP": "ec2:ReleaseAddress",
    "EC2::NatGateway": "ec2:DeleteNatGateway",
    "EC2::SecurityGroup": "ec2:DeleteSecurityGroup",
    "EC2::SecurityGroupIngress": "ec2:RevokeSecurityGroupIngress ec2:DescribeSecurityGroupRules",
    "EC2::LaunchTemplate": "ec2:DeleteLaunchTemplate",
    "EC2::PlacementGroup": "ec2:DeletePlacementGroup",
    "IAM::Role": "iam:DeleteRole iam:DetachRolePolicy iam:GetRole iam:ListRolePolicies iam:ListAttachedRolePolicies",
    "EKS::Cluster": "eks:DeleteCluster",
    "EKS::Nodegroup": "eks:DeleteNodegroup",
}
