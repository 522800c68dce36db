"""Launch templates, placement groups, clusters and node groups as stack resources."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING, Any, ClassVar

from moto.core.exceptions import ServiceException

from clusterctl.sandbox.cloud.placement import PlacementGroup
from clusterctl.sandbox.cloud.stacks.kinds import Order, ResourceFailedError, ResourceKind, StillInUseError

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.clusters import ClusterStore
    from clusterctl.sandbox.cloud.eks.model import Cluster, Nodegroup
    from clusterctl.sandbox.cloud.eks.nodegroups import NodegroupKeeper
    from clusterctl.sandbox.cloud.site import Site


def _handler_message(problem: Any, code: str) -> str:
    """A service's refusal as CloudFormation words it."""
    tail = f"(RequestToken: {token_hex(16)}, HandlerErrorCode: {code})"
    text = f"{problem} (Service: Eks, Status Code: 400, Request ID: {token_hex(16)})"
    return f'Resource handler returned message: "{text}" {tail}'


def _lower_keys(value: Any) -> Any:
    """CloudFormation's PascalCase as EKS's camelCase; the keys of labels and tags stay."""
    if isinstance(value, list):
        return [_lower_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key[0].lower() + key[1:]: item if key in {"Labels", "Tags"} else _lower_keys(item)
        for key, item in value.items()
    }


class LaunchTemplate(ResourceKind):
    """Launch template of a stack, kept in the local AWS."""

    def create(self, order: Order) -> str:
        name = order.properties.get("LaunchTemplateName") or f"{order.logical_id}_{token_hex(6)}"
        if name in order.site.ec2.launch_template_name_to_ids:
            raise ResourceFailedError(f"Launch template name already in use. ({name})")
        made = order.site.ec2.create_launch_template(name, "", order.properties["LaunchTemplateData"], {})
        return order.tagged(made.id)

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        number = str(site.ec2.get_launch_template(physical_id).latest_version_number)
        return {"LatestVersionNumber": number, "DefaultVersionNumber": "1", "LaunchTemplateId": physical_id}

    def delete(self, site: Site, physical_id: str) -> None:
        if physical_id in site.ec2.launch_templates:
            site.ec2.delete_launch_template("", physical_id)


class Placement(ResourceKind):
    """Placement of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 10.0

    def create(self, order: Order) -> str:
        name = f"{order.stack_name}-{order.logical_id}-{token_hex(6).upper()}"
        strategy = order.properties.get("Strategy", "cluster")
        group_id = f"pg-{token_hex(9)[:17]}"
        order.site.world.placement_groups.add(PlacementGroup(order.site.region, name, group_id, strategy))
        order.tagged(group_id)
        return name

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        return {"GroupName": physical_id}

    def delete(self, site: Site, physical_id: str) -> None:
        group = site.world.placement_groups.get(site.region, physical_id)
        if group is None:
            return
        if group.members:
            raise StillInUseError(f"The placement group '{physical_id}' is in use and may not be deleted.")
        site.world.placement_groups.remove(group)


class EksCluster(ResourceKind):
    """Eks cluster of a stack, kept in the local AWS."""

    create_s: ClassVar[float] = 30.0

    def __init__(self, clusters: ClusterStore) -> None:
        self._clusters = clusters

    def _find(self, site: Site, name: str) -> Cluster | None:
        return self._clusters.get(site.region, name) if name in self._clusters.names_in(site.region) else None

    def create(self, order: Order) -> str:
        if order.rehearsal == "rollback":
            text = "Internal Server Error (Service: Eks, Status Code: 500)"
            raise ResourceFailedError(_handler_message(text, "ServiceInternalError"))
        request = _lower_keys(order.properties)
        request["tags"] = {key: value for key, value in order.tags.items() if not key.startswith("aws:")}
        request["logging"] = _logging(order.properties.get("Logging") or {})
        try:
            return self._clusters.create(order.site.region, request).name
        except ServiceException as problem:
            code = "AlreadyExists" if problem.code == "ResourceInUseException" else "InvalidRequest"
            raise ResourceFailedError(_handler_message(problem.message, code)) from problem

    def is_ready(self, site: Site, physical_id: str) -> bool:
        cluster = self._find(site, physical_id)
        if cluster is None or cluster.status in {"DELETING", "FAILED"}:
            raise ResourceFailedError(f"Cluster {physical_id} did not become ACTIVE")
        return cluster.status != "CREATING"

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        cluster = self._clusters.get(site.region, physical_id)
        return {
            "Arn": cluster.arn,
            "Endpoint": cluster.endpoint,
            "CertificateAuthorityData": cluster.certificate_authority,
            "ClusterSecurityGroupId": cluster.security_group,
            "OpenIdConnectIssuerUrl": cluster.issuer,
        }

    def delete(self, site: Site, physical_id: str) -> None:
        if self._find(site, physical_id) is None:
            return
        try:
            self._clusters.delete(site.region, physical_id)
        except ServiceException as problem:
            if problem.code == "ResourceInUseException":
                raise StillInUseError(_handler_message(problem.message, "GeneralServiceException")) from problem
            raise ResourceFailedError(_handler_message(problem.message, "InvalidRequest")) from problem

    def is_gone(self, site: Site, physical_id: str) -> bool:
        return self._find(site, physical_id) is None


def _logging(wanted: dict[str, Any]) -> dict[str, Any]:
    types = [item["Type"] for item in (wanted.get("ClusterLogging") or {}).get("EnabledTypes") or []]
    return {"clusterLogging": [{"types": types, "enabled": True}] if types else []}


class EksNodegroup(ResourceKind):
    """Its physical id is CLUSTER/NODEGROUP."""

    create_s: ClassVar[float] = 60.0
    delete_s: ClassVar[float] = 30.0

    def __init__(self, keeper: NodegroupKeeper) -> None:
        self._keeper = keeper

    def _find(self, site: Site, physical_id: str) -> Nodegroup | None:
        cluster, _, name = physical_id.partition("/")
        if cluster not in self._keeper.clusters.names_in(site.region):
            return None
        return self._keeper.clusters.get(site.region, cluster).nodegroups.get(name)

    def create(self, order: Order) -> str:
        request = _lower_keys(order.properties)
        request["taints"] = request.get("taints") or []
        request["tags"] = {key: value for key, value in order.tags.items() if not key.startswith("aws:")}
        try:
            made = self._keeper.create(order.site.region, request, order.rehearsal)
        except ServiceException as problem:
            code = "AlreadyExists" if problem.code == "ResourceInUseException" else "InvalidRequest"
            raise ResourceFailedError(_handler_message(problem.message, code)) from problem
        return f"{made.cluster}/{made.name}"

    def is_ready(self, site: Site, physical_id: str) -> bool:
        nodegroup = self._find(site, physical_id)
        if nodegroup is None or nodegroup.status == "DELETING":
            raise ResourceFailedError(f"Nodegroup {physical_id} was deleted while it was being created")
        if nodegroup.status == "CREATE_FAILED":
            raise ResourceFailedError(_failed(nodegroup))
        return nodegroup.status != "CREATING"

    def attributes(self, site: Site, physical_id: str) -> dict[str, str]:
        cluster, _, name = physical_id.partition("/")
        arn = self._keeper.clusters.nodegroup(site.region, cluster, name).arn
        return {"Arn": arn, "ClusterName": cluster, "NodegroupName": name, "Id": physical_id}

    def delete(self, site: Site, physical_id: str) -> None:
        nodegroup = self._find(site, physical_id)
        if nodegroup is not None:
            self._keeper.delete(site.region, nodegroup.cluster, nodegroup.name)

    def is_gone(self, site: Site, physical_id: str) -> bool:
        return self._find(site, physical_id) is None


def _failed(nodegroup: Nodegroup) -> str:
    issues = ", ".join(
        f"Issue(Code={one['code']}, Message={one['message']}, ResourceIds={one['resourceIds']})".replace("'", "")
        for one in nodegroup.issues
    )
    tail = f"(RequestToken: {token_hex(16)}, HandlerErrorCode: GeneralServiceException)"
    return f'Resource handler returned message: "[{issues}] (Service: null, Status Code: 0, Request ID: null)" {tail}'
