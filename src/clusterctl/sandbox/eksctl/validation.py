"""The checks that eksctl makes in code, in its own words."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.hardware import has_nvidia_gpu, is_neuron

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.config import ClusterConfig, NodegroupConfig

_NAME = re.compile(r"^[a-zA-Z][-a-zA-Z0-9]*$")
_RESERVED = ("kubernetes.io/", "k8s.io/")
_RETENTION = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653)
AMI_FAMILIES = frozenset(
    {
        "AmazonLinux2023", "AmazonLinux2", "Ubuntu2604", "Ubuntu2404", "Ubuntu2204", "Ubuntu2004", "UbuntuPro2404",
        "UbuntuPro2204", "UbuntuPro2004", "UbuntuPro2604", "Bottlerocket", "BottlerocketFips",
        "WindowsServer2019CoreContainer", "WindowsServer2019FullContainer", "WindowsServer2022CoreContainer",
        "WindowsServer2022FullContainer", "WindowsServer2025CoreContainer", "WindowsServer2025FullContainer",
    }
)  # fmt: skip


def check_cluster(config: ClusterConfig) -> None:
    """What holds for a whole config. Raises EksctlError."""
    if not config.name:
        raise EksctlError("metadata.name must be set")
    if not config.region:
        raise EksctlError("metadata.region must be set")
    if not _NAME.match(config.name):
        raise _bad_name(config.name)
    _check_network(config)
    _check_addons(config)
    _check_logging(config)
    names = [one.name for one in config.nodegroups]
    for index, nodegroup in enumerate(config.nodegroups):
        if names.count(nodegroup.name) > 1:
            raise EksctlError(f"managedNodeGroups[{index}].name {nodegroup.name!r} is not unique".replace("'", '"'))
        check_nodegroup(config, nodegroup, f"managedNodeGroups[{index}]")


def _bad_name(name: str) -> EksctlError:
    pattern = "[a-zA-Z][-a-zA-Z0-9]*"
    return EksctlError(f"validation for {name} failed, name must satisfy regular expression pattern: {pattern}")


def _check_network(config: ClusterConfig) -> None:
    if config.vpc.get("subnets") and config.zones:
        raise EksctlError("vpc.subnets and availabilityZones cannot be set at the same time")
    if config.zones and len(config.zones) < 2:
        zones = f"[{' '.join(config.zones)}]"
        raise EksctlError(f"only {len(config.zones)} zone(s) specified {zones}, 2 are required (can be non-unique)")
    if len(config.zones) > 8:
        raise EksctlError(f"cannot create more than 16 subnets, {2 * len(config.zones)} requested")
    if config.nat not in {"HighlyAvailable", "Single", "Disable"}:
        raise EksctlError(f'invalid vpc.nat.gateway value "{config.nat}", valid ones: HighlyAvailable, Single, Disable')
    if not any(config.endpoints.values()):
        raise EksctlError("Kubernetes API access must have one of public or private clusterEndpoints enabled")
    if cidr := config.vpc.get("cidr"):
        try:
            prefix = ipaddress.ip_network(cidr).prefixlen
        except ValueError as problem:
            raise EksctlError(f"invalid CIDR address: {cidr}") from problem
        if not 16 <= prefix <= 24:
            raise EksctlError("VPC CIDR prefix must be between /16 and /24")


def _check_addons(config: ClusterConfig) -> None:
    names = {addon.get("name") for addon in config.addons}
    if config.addons_config.get("autoApplyPodIdentityAssociations") and "eks-pod-identity-agent" not in names:
        raise EksctlError(
            'the "eks-pod-identity-agent" addon must be installed to create pod identity associations;'
            ' please add "eks-pod-identity-agent" addon to the config file'
        )
    for addon in config.addons:
        if not addon.get("name"):
            raise EksctlError("name required")
        if addon.get("resolveConflicts", "").lower() not in {"", "none", "overwrite", "preserve"}:
            text = "is not valid, supported values for resolveConflicts: NONE, OVERWRITE, PRESERVE"
            raise EksctlError(f"'{addon['resolveConflicts']}' {text}")


def _check_logging(config: ClusterConfig) -> None:
    days = config.logging.get("logRetentionInDays")
    if days is not None and not config.logging.get("enableTypes"):
        raise EksctlError("cannot set cloudWatch.clusterLogging.logRetentionInDays without enabling log types")
    if days is not None and days not in _RETENTION:
        raise EksctlError(f"invalid value {days} for logRetentionInDays; supported values are {list(_RETENTION)}")


def check_creation(config: ClusterConfig) -> None:
    """What holds for `create cluster` alone."""
    if not config.nodegroups:
        return
    if config.auto_mode:
        raise EksctlError(
            "creation of managed or self-managed nodegroups is not supported during cluster creation when Auto Mode"
            " is enabled; please create the nodegroups after cluster creation"
        )
    has_cni = any(addon.get("name") == "vpc-cni" for addon in config.addons)
    if config.addons_config.get("disableDefaultAddons") and not has_cni:
        raise EksctlError(
            "fields nodeGroups, managedNodeGroups, fargateProfiles, karpenter, gitops, iam.serviceAccounts,"
            " and iam.podIdentityAssociations are not supported during cluster creation in a cluster without VPC CNI"
            " if Auto Mode is disabled; please remove these fields and add them back after cluster creation"
            " is successful"
        )


def check_nodegroup(config: ClusterConfig, nodegroup: NodegroupConfig, path: str) -> None:
    """What holds for one managed node group."""
    if not nodegroup.name:
        raise EksctlError(f"{path}.name must be set")
    if not _NAME.match(nodegroup.name.replace("_", "-").replace(".", "-")):
        raise _bad_name(nodegroup.name)
    _check_sizes(nodegroup, path)
    _check_place(nodegroup, path)
    _check_capacity(nodegroup)
    _check_labels(nodegroup)
    _check_image(config, nodegroup, path)


def _check_sizes(nodegroup: NodegroupConfig, path: str) -> None:
    if nodegroup.raw.get("instanceType") and nodegroup.raw.get("instanceTypes"):
        raise EksctlError(f"only one of instanceType or instanceTypes can be specified ({path})")
    sizes = nodegroup.sizes
    low, high, desired = sizes["minSize"], sizes["maxSize"], sizes["desiredSize"]
    if low > high:
        raise EksctlError(f"cannot use --nodes-min={low} and --nodes-max={high} at the same time")
    if desired < low:
        raise EksctlError(f"cannot use --nodes-min={low} and --nodes={desired} at the same time")
    if desired > high:
        raise EksctlError(f"cannot use --nodes-max={high} and --nodes={desired} at the same time")
    volume = nodegroup.raw
    if volume.get("volumeThroughput") is not None and not 125 <= volume["volumeThroughput"] <= 1000:
        raise EksctlError(f"value for {path}.volumeThroughput must be within range 125-1000")
    if volume.get("volumeIOPS") is not None and not 3000 <= volume["volumeIOPS"] <= 16000:
        raise EksctlError(f"value for {path}.volumeIOPS must be within range 3000-16000")


def _check_place(nodegroup: NodegroupConfig, path: str) -> None:
    if nodegroup.zones and nodegroup.subnets:
        raise EksctlError(f"only one of {path}.subnets or {path}.availabilityZones should be set")
    if nodegroup.efa and (len(nodegroup.subnets) > 1 or len(nodegroup.zones) > 1):
        raise EksctlError(f"{path}.efaEnabled nodegroups must have only one subnet or one availability zone")
    placement = nodegroup.raw.get("placement")
    if placement is not None and not placement.get("groupName"):
        raise EksctlError(f"{path}.placement.groupName must be set and non-empty")


def _check_capacity(nodegroup: NodegroupConfig) -> None:
    wanted = nodegroup.reservation
    preference, target = wanted.get("capacityReservationPreference"), wanted.get("capacityReservationTarget")
    if preference and target:
        raise EksctlError(
            "only one of CapacityReservationPreference or CapacityReservationTarget may be specified at a time"
        )
    if preference and preference not in {"open", "none"}:
        raise EksctlError(f'accepted values include "open" and "none"; got "{preference}"')
    if target and target.get("capacityReservationID") and target.get("capacityReservationResourceGroupARN"):
        raise EksctlError(
            "only one of CapacityReservationID or CapacityReservationResourceGroupARN may be specified at a time"
        )
    if "instanceMarketOptions" not in nodegroup.raw:
        return
    if not wanted:
        raise EksctlError("instanceMarketOptions cannot be set without capacityReservation")
    if nodegroup.market != "capacity-block":
        raise EksctlError(f'only accepted value is "capacity-block"; got "{nodegroup.market}"')
    if len(nodegroup.instance_types) > 1:
        raise EksctlError("cannot specify multiple instance types when using capacity block")


def _check_labels(nodegroup: NodegroupConfig) -> None:
    reserved = [label for label in nodegroup.labels if label.startswith(_RESERVED)]
    if reserved:
        prefixes = "[kubernetes.io/, k8s.io/]"
        text = "the following nodegroup labels are disallowed as they have reserved prefixes"
        raise EksctlError(f"{text} {prefixes}: [{' '.join(reserved)}]")
    for taint in nodegroup.taints:
        if taint.get("effect") not in {"NoSchedule", "PreferNoSchedule", "NoExecute"}:
            raise EksctlError(f"invalid taint effect: {taint.get('effect', '')}")


def _check_image(config: ClusterConfig, nodegroup: NodegroupConfig, path: str) -> None:
    family = nodegroup.ami_family
    if family not in AMI_FAMILIES:
        raise EksctlError(f"AMI Family {family} is not supported - use one of: {', '.join(sorted(AMI_FAMILIES))}")
    if family == "AmazonLinux2" and tuple(map(int, config.version.split("."))) >= (1, 33):
        raise EksctlError(f"AmazonLinux2 is not supported for Kubernetes version {config.version}")
    accelerated = any(has_nvidia_gpu(one) or is_neuron(one) for one in nodegroup.instance_types)
    if accelerated and family.startswith("Windows"):
        raise EksctlError(f"{path}: GPU instance types are not supported for {family}")
