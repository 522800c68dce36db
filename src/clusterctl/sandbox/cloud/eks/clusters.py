"""The life of a cluster: minutes of CREATING, ACTIVE once its API answers, minutes of DELETING."""

from __future__ import annotations

import re
from secrets import randbelow
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.cloud.answering import refusal
from clusterctl.sandbox.cloud.eks.model import Cluster
from clusterctl.sandbox.cloud.eks.versions import DEFAULT_VERSION, SUPPORTED_VERSIONS
from clusterctl.sandbox.cloud.site import Site
from clusterctl.sandbox.cloud.stacks.security import remove_group

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.model import Nodegroup
    from clusterctl.sandbox.cloud.world import World

CREATE_S = 540.0
DELETE_S = 360.0
POLL_S = 10.0
WITHOUT_CONTROL_PLANE = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})
_GROUP_DESCRIPTION = (
    "EKS created security group applied to ENI that is attached to EKS Control Plane master nodes,"
    " as well as any managed workloads."
)
_NAME = re.compile(r"^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$")


class ClusterStore:
    """The clusters of every region."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._clusters: dict[tuple[str, str], Cluster] = {}

    def reset(self) -> None:
        self._clusters.clear()

    def everywhere(self) -> list[Cluster]:
        return list(self._clusters.values())

    def names_in(self, region: str) -> list[str]:
        return sorted(name for place, name in self._clusters if place == region)

    def get(self, region: str, name: str) -> Cluster:
        """A cluster. Raises ResourceNotFoundException."""
        try:
            return self._clusters[region, name]
        except KeyError:
            text = f"No cluster found for name: {name}."
            raise refusal("ResourceNotFoundException", text, clusterName=name) from None

    def nodegroup(self, region: str, cluster: str, name: str) -> Nodegroup:
        """A node group. Raises ResourceNotFoundException."""
        found = self.get(region, cluster).nodegroups.get(name)
        if found is None:
            text = f"No node group found for name: {name}."
            raise refusal("ResourceNotFoundException", text, clusterName=cluster, nodegroupName=name)
        return found

    def create(self, region: str, request: dict[str, Any]) -> Cluster:
        """Begin a cluster from a CreateCluster request."""
        site, name = Site(self.world, region), str(request["name"])
        version = request.get("version") or DEFAULT_VERSION
        self._check(site, name, version, request)
        cluster = Cluster(
            name=name,
            region=region,
            version=version,
            role_arn=request["roleArn"],
            network=_network(site, request["resourcesVpcConfig"]),
            created_at=site.now(),
            tags=dict(request.get("tags") or {}),
            access=_access(request.get("accessConfig") or {}),
            logging=request.get("logging") or {"clusterLogging": []},
            upgrade_policy=(request.get("upgradePolicy") or {}).get("supportType", "EXTENDED"),
            deletion_protection=bool(request.get("deletionProtection")),
        )
        _open_network(site, cluster)
        _open_log_group(site, cluster)
        self._clusters[region, name] = cluster
        site.later(CREATE_S, lambda: self._activate(site, cluster))
        self.world.timeline.changed()
        return cluster

    def _check(self, site: Site, name: str, version: str, request: dict[str, Any]) -> None:
        if (site.region, name) in self._clusters:
            raise refusal("ResourceInUseException", f"Cluster already exists with name: {name}", clusterName=name)
        if not _NAME.match(name):
            raise refusal("InvalidParameterException", f"The cluster name {name} is not valid", clusterName=name)
        if version not in SUPPORTED_VERSIONS:
            raise refusal("InvalidParameterException", f"unsupported Kubernetes version {version}", clusterName=name)
        zones = {site.zone_of(subnet) for subnet in request["resourcesVpcConfig"]["subnetIds"]}
        if len(zones) < 2:
            text = "Subnets specified must be in at least two different AZs"
            raise refusal("InvalidParameterException", text, clusterName=name)
        _check_zones(site, name, zones)

    def _activate(self, site: Site, cluster: Cluster) -> None:
        if cluster.status != "CREATING":
            return
        posted = self.world.endpoints.get((cluster.region, cluster.name))
        if posted is None:
            site.later(POLL_S, lambda: self._activate(site, cluster))
            return
        cluster.endpoint = posted.endpoint
        cluster.certificate_authority = posted.certificate_authority
        cluster.status = "ACTIVE"
        self.world.timeline.changed()

    def delete(self, region: str, name: str) -> Cluster:
        """Begin to delete a cluster. Raises ResourceInUseException while node groups are left."""
        cluster = self.get(region, name)
        if cluster.nodegroups:
            listed = ",".join(cluster.nodegroups)
            text = "Cluster has nodegroups attached"
            raise refusal("ResourceInUseException", text, clusterName=name, nodegroupName=listed)
        if cluster.deletion_protection:
            text = f"Cluster {name} cannot be deleted because deletion protection is enabled"
            raise refusal("InvalidRequestException", text, clusterName=name)
        if cluster.status != "DELETING":
            cluster.status = "DELETING"
            site = Site(self.world, region)
            site.later(DELETE_S, lambda: self._vanish(site, cluster))
            self.world.timeline.changed()
        return cluster

    def _vanish(self, site: Site, cluster: Cluster) -> None:
        for interface in cluster.interfaces:
            site.ec2.enis.pop(interface, None)
        remove_group(site, cluster.security_group)
        self._clusters.pop((cluster.region, cluster.name), None)
        self.world.endpoints.pop((cluster.region, cluster.name), None)
        self.world.timeline.changed()


def _check_zones(site: Site, name: str, zones: set[str]) -> None:
    ids = site.zone_ids()
    refused = sorted(zone for zone in zones if ids.get(zone) in WITHOUT_CONTROL_PLANE)
    if not refused:
        return
    good = sorted(zone for zone, zone_id in ids.items() if zone_id not in WITHOUT_CONTROL_PLANE)
    text = (
        f"Cannot create cluster '{name}' because {refused[0]}, the targeted availability zone, does not currently"
        f" have sufficient capacity to support the cluster. Retry and choose from these availability zones:"
        f" {', '.join(good)}"
    )
    raise refusal("UnsupportedAvailabilityZoneException", text, clusterName=name, validZones=good)


def _network(site: Site, wanted: dict[str, Any]) -> dict[str, Any]:
    subnets = list(wanted["subnetIds"])
    return {
        "subnetIds": subnets,
        "securityGroupIds": list(wanted.get("securityGroupIds") or []),
        "vpcId": site.ec2.get_subnet(subnets[0]).vpc_id,
        "endpointPublicAccess": wanted.get("endpointPublicAccess", True) is not False,
        "endpointPrivateAccess": bool(wanted.get("endpointPrivateAccess")),
        "publicAccessCidrs": list(wanted.get("publicAccessCidrs") or ["0.0.0.0/0"]),
    }


def _access(wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "authenticationMode": wanted.get("authenticationMode") or "CONFIG_MAP",
        "bootstrapClusterCreatorAdminPermissions": wanted.get("bootstrapClusterCreatorAdminPermissions", True)
        is not False,
    }


def _open_network(site: Site, cluster: Cluster) -> None:
    """The cluster security group, and the interfaces of the control plane in two subnets."""
    ec2, network = site.ec2, cluster.network
    name = f"eks-cluster-sg-{cluster.name}-{randbelow(10**10):010d}"
    group = ec2.create_security_group(
        name,
        _GROUP_DESCRIPTION,
        vpc_id=network["vpcId"],
        tags={
            "Name": name,
            f"kubernetes.io/cluster/{cluster.name}": "owned",
            "aws:eks:cluster-name": cluster.name,
        },
        force=True,
    )
    cluster.security_group = group.id
    for subnet in network["subnetIds"][:2]:
        interface = ec2.create_network_interface(
            ec2.get_subnet(subnet), None, group_ids=[group.id], description=f"Amazon EKS {cluster.name}"
        )
        interface.requester_managed = True
        interface.status = "in-use"
        cluster.interfaces.append(interface.id)


def _open_log_group(site: Site, cluster: Cluster) -> None:
    enabled = any(item.get("enabled") for item in cluster.logging.get("clusterLogging") or [])
    name = f"/aws/eks/{cluster.name}/cluster"
    if enabled and name not in site.logs.groups:
        site.logs.create_log_group(name, {})
