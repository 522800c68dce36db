"""One of every kind of thing that a cluster can leave behind, marked as the cluster's, outside of its VPC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OURS = [{"Key": "clusterctl:run", "Value": "earlier"}, {"Key": "clusterctl:cluster", "Value": "training"}]
OWNED = [{"Key": "kubernetes.io/cluster/training", "Value": "owned"}, *OURS]  # in another VPC only our own mark counts


def plant(client: Callable[[str], Any]) -> None:
    """Make them all in the default VPC of the client's region."""
    ec2 = client("ec2")
    vpc = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"][0]["VpcId"]
    found = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Subnets"]
    subnets = [one["SubnetId"] for one in found]
    _groups(ec2, vpc)
    _storage(ec2)
    _network(ec2, subnets[0])
    _balancers(client, vpc, subnets)
    _records(client)


def _tagged(kind: str, tags: list[dict[str, str]] = OWNED) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": tags}]


def _groups(ec2: Any, vpc: str) -> None:
    """Two groups that name each other: neither goes while a rule of the other stands."""
    first, second = (
        ec2.create_security_group(
            GroupName=name, Description=name, VpcId=vpc, TagSpecifications=_tagged("security-group")
        )["GroupId"]
        for name in ("k8s-elb-a", "k8s-traffic-b")
    )
    rule = {"IpProtocol": "tcp", "FromPort": 80, "ToPort": 80}
    for one, other in ((first, second), (second, first)):
        permissions = [{**rule, "UserIdGroupPairs": [{"GroupId": other}]}]
        ec2.authorize_security_group_ingress(GroupId=one, IpPermissions=permissions)
        ec2.authorize_security_group_egress(GroupId=one, IpPermissions=permissions)


def _storage(ec2: Any) -> None:
    made = ec2.create_volume(AvailabilityZone="us-east-2a", Size=1, TagSpecifications=_tagged("volume"))
    ec2.create_snapshot(VolumeId=made["VolumeId"], TagSpecifications=_tagged("snapshot"))


def _network(ec2: Any, subnet: str) -> None:
    ec2.create_network_interface(SubnetId=subnet, TagSpecifications=_tagged("network-interface"))
    ec2.allocate_address(Domain="vpc", TagSpecifications=_tagged("elastic-ip"))
    address = ec2.allocate_address(Domain="vpc", TagSpecifications=_tagged("elastic-ip"))["AllocationId"]
    ec2.create_nat_gateway(SubnetId=subnet, AllocationId=address, TagSpecifications=_tagged("natgateway"))
    ec2.run_instances(
        ImageId="ami-12345678", InstanceType="m7i.xlarge", MinCount=1, MaxCount=1, SubnetId=subnet,
        TagSpecifications=_tagged("instance"),
    )  # fmt: skip


def _balancers(client: Callable[[str], Any], vpc: str, subnets: list[str]) -> None:
    listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}
    client("elb").create_load_balancer(LoadBalancerName="classic", Listeners=[listener], Subnets=subnets, Tags=OWNED)
    balancing = client("elbv2")
    balancing.create_load_balancer(Name="network", Type="network", Subnets=subnets, Tags=OWNED)
    balancing.create_target_group(Name="pods", Protocol="TCP", Port=80, VpcId=vpc, TargetType="ip", Tags=OWNED)


def _records(client: Callable[[str], Any]) -> None:
    ec2 = client("ec2")
    ec2.create_placement_group(GroupName="left-group", Strategy="cluster", TagSpecifications=_tagged("placement-group"))
    ec2.create_launch_template(
        LaunchTemplateName="left-template",
        LaunchTemplateData={"InstanceType": "m7i.xlarge"},
        TagSpecifications=_tagged("launch-template"),
    )
    ec2.create_capacity_reservation(
        InstanceType="g6.12xlarge", InstancePlatform="Linux/UNIX", InstanceCount=1, AvailabilityZone="us-east-2b",
        InstanceMatchCriteria="targeted", TagSpecifications=_tagged("capacity-reservation", OURS),
    )  # fmt: skip
    client("logs").create_log_group(logGroupName="/aws/eks/training/cluster")
    client("iam").create_open_id_connect_provider(
        Url="https://oidc.eks.us-east-2.amazonaws.com/id/LEFT", ThumbprintList=[],
        Tags=[{"Key": "alpha.eksctl.io/cluster-name", "Value": "training"}],
    )  # fmt: skip
    group = '{"Resources": {"G": {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": "cluster"}}}}'
    client("cloudformation").create_stack(StackName="eksctl-training-left", TemplateBody=group, Tags=OURS)
