"""The life of a managed node group, and when EKS calls it ACTIVE, DEGRADED or failed."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.cloud import catalog
from clusterctl.sandbox.cloud.answering import refusal
from clusterctl.sandbox.cloud.eks.launching import Blueprint, template_data
from clusterctl.sandbox.cloud.eks.model import Nodegroup
from clusterctl.sandbox.cloud.eks.scaling import Scaler, ScalingGroup
from clusterctl.sandbox.cloud.site import Site

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.clusters import ClusterStore
    from clusterctl.sandbox.cloud.eks.model import Cluster

GROUP_S = 60.0  # until the Auto Scaling group shows
ACTIVE_S = 100.0  # EKS needs this long even for no nodes
GIVE_UP_S = 1620.0  # 27 minutes; 20 to 33 have been seen
REHEARSED_GIVE_UP_S = 720.0  # sooner than eksctl's own patience, so that it sees the roll-back
DRAIN_S = 75.0
DELETE_S = 240.0
DELETE_EMPTY_S = 120.0  # 2 to 6 minutes have been seen; without an instance there is little to wait for
WATCH_S = 30.0
SHORTAGE_SHOWS_S = 420.0
_LABEL = re.compile(r"^[A-Za-z0-9./_-]{1,316}$")


class NodegroupKeeper:
    """Makes, watches, changes and removes the node groups of every region."""

    def __init__(self, clusters: ClusterStore) -> None:
        self.clusters = clusters
        self.world = clusters.world

    def create(self, region: str, request: dict[str, Any], rehearsal: str = "") -> Nodegroup:
        """Begin a node group from a CreateNodegroup request.

        `rehearsal` "partial" leaves one node out, "rollback" all of them.
        """
        site = Site(self.world, region)
        cluster = self.clusters.get(region, request["clusterName"])
        _check(cluster, request)
        nodegroup = _new_nodegroup(site, cluster, request)
        _check_types(nodegroup, template_data(site, nodegroup.launch_template))
        cluster.nodegroups[nodegroup.name] = nodegroup
        site.later(GROUP_S, lambda: self._open_group(site, cluster, nodegroup, rehearsal))
        site.later(ACTIVE_S, lambda: self._watch(site, nodegroup, rehearsal))
        return nodegroup

    def _open_group(self, site: Site, cluster: Cluster, nodegroup: Nodegroup, rehearsal: str) -> None:
        if nodegroup.status != "CREATING":
            return
        wanted, scaling = template_data(site, nodegroup.launch_template), nodegroup.scaling
        blueprint = Blueprint.of(site, cluster, nodegroup)
        nodegroup.group = ScalingGroup(
            name=f"eks-{nodegroup.name}-{uuid.uuid4()}",
            region=site.region,
            blueprint=blueprint,
            instance_types=[wanted["InstanceType"]] if wanted.get("InstanceType") else nodegroup.instance_types,
            subnets=nodegroup.subnets,
            minimum=scaling["minSize"],
            maximum=scaling["maxSize"],
            desired=scaling["desiredSize"],
            created_at=site.now(),
            tags=blueprint.tags,
            ceiling=_ceiling(rehearsal, scaling["desiredSize"]),
        )
        Scaler(site).tend(nodegroup.group)

    def _watch(self, site: Site, nodegroup: Nodegroup, rehearsal: str) -> None:
        if nodegroup.status in {"CREATE_FAILED", "DELETING", "DELETED"}:
            return
        if nodegroup.status == "CREATING":
            self._judge_creation(site, nodegroup, rehearsal)
        elif nodegroup.status in {"ACTIVE", "DEGRADED"}:
            self._judge_health(nodegroup)
        site.later(WATCH_S, lambda: self._watch(site, nodegroup, rehearsal))

    def _judge_creation(self, site: Site, nodegroup: Nodegroup, rehearsal: str) -> None:
        group, age = nodegroup.group, site.world.clock.timestamp() - nodegroup.created_s
        if group is None:
            return
        enough = group.desired if group.ceiling is None else min(group.ceiling, group.desired)
        if group.joined >= enough and rehearsal != "rollback":
            nodegroup.status = "ACTIVE"
            nodegroup.issues = []
        elif age >= (REHEARSED_GIVE_UP_S if rehearsal == "rollback" else GIVE_UP_S):
            nodegroup.status = "CREATE_FAILED"
            nodegroup.issues = _issues(group)
        elif age >= SHORTAGE_SHOWS_S:
            nodegroup.issues = [one for one in _issues(group) if one["code"] == "AsgInstanceLaunchFailures"]
        self.world.timeline.changed()

    def _judge_health(self, nodegroup: Nodegroup) -> None:
        group = nodegroup.group
        if group is None:
            return
        failure = group.latest_failure() if len(group.nodes) < group.desired else None
        nodegroup.issues = [_launch_issue(group, failure.message)] if failure else []
        nodegroup.status = "DEGRADED" if failure else "ACTIVE"

    def delete(self, region: str, cluster_name: str, name: str) -> Nodegroup:
        """Begin to delete a node group."""
        nodegroup = self.clusters.nodegroup(region, cluster_name, name)
        if nodegroup.status == "DELETING":
            return nodegroup
        site = Site(self.world, region)
        nodegroup.status = "DELETING"
        lasts_s = DELETE_S if nodegroup.group and nodegroup.group.nodes else DELETE_EMPTY_S
        site.later(DRAIN_S, lambda: self._close_group(site, nodegroup))
        site.later(lasts_s, lambda: self._vanish(nodegroup))
        return nodegroup

    def _close_group(self, site: Site, nodegroup: Nodegroup) -> None:
        if nodegroup.group is not None:
            Scaler(site).close(nodegroup.group)

    def _vanish(self, nodegroup: Nodegroup) -> None:
        nodegroup.status, nodegroup.group = "DELETED", None
        self.clusters.get(nodegroup.region, nodegroup.cluster).nodegroups.pop(nodegroup.name, None)
        self.world.timeline.changed()

    def update(self, region: str, request: dict[str, Any]) -> dict[str, Any]:
        """Change sizes, labels or taints; the update's record."""
        nodegroup = self.clusters.nodegroup(region, request["clusterName"], request["nodegroupName"])
        if nodegroup.status not in {"ACTIVE", "DEGRADED"}:
            text = "Nodegroup cannot be updated as it is currently not in Active State"
            raise refusal("ResourceInUseException", text, nodegroupName=nodegroup.name)
        changed = _apply(nodegroup, request)
        site = Site(self.world, region)
        nodegroup.status, nodegroup.modified_at = "UPDATING", site.now()
        update = {
            "id": str(uuid.uuid4()),
            "status": "InProgress",
            "type": "ConfigUpdate",
            "params": changed,
            "createdAt": site.now(),
            "errors": [],
        }
        site.later(WATCH_S, lambda: self._updated(nodegroup, update))
        if nodegroup.group is not None:
            Scaler(site).reconcile(nodegroup.group)
        self.world.timeline.changed()
        return update

    def _updated(self, nodegroup: Nodegroup, update: dict[str, Any]) -> None:
        update["status"] = "Successful"
        if nodegroup.status == "UPDATING":
            nodegroup.status = "ACTIVE"


def _ceiling(rehearsal: str, desired: int) -> int | None:
    if rehearsal == "rollback":
        return 0
    return max(desired - 1, 0) if rehearsal == "partial" else None


def _check(cluster: Cluster, request: dict[str, Any]) -> None:
    name = request["nodegroupName"]
    whose = {"clusterName": cluster.name, "nodegroupName": name}
    if cluster.status != "ACTIVE":
        raise refusal("InvalidRequestException", f"Cluster '{cluster.name}' is not in ACTIVE status", **whose)
    if name in cluster.nodegroups:
        text = f"NodeGroup already exists with name {name} and cluster name {cluster.name}"
        raise refusal("ResourceInUseException", text, **whose)
    for label in request.get("labels") or {}:
        if label.startswith("eks.amazonaws.com/") or not _LABEL.match(label):
            text = f"Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, eks.amazonaws.com/]: {label}"
            raise refusal("InvalidParameterException", text, **whose)
    _check_scaling(_scaling(request.get("scalingConfig")), whose)


def _check_scaling(scaling: dict[str, int], whose: dict[str, Any]) -> None:
    low, high, desired = (scaling[key] for key in ("minSize", "maxSize", "desiredSize"))
    if not 0 <= low <= desired <= high or high < 1:
        text = f"Minimum capacity {low}, desired {desired} and maximum {high} do not fit together"
        raise refusal("InvalidParameterException", text, **whose)


def _scaling(wanted: dict[str, int] | None) -> dict[str, int]:
    return {key: int((wanted or {}).get(key, 2)) for key in ("minSize", "maxSize", "desiredSize")}


def _check_types(nodegroup: Nodegroup, data: dict[str, Any]) -> None:
    wanted = [data["InstanceType"]] if data.get("InstanceType") else nodegroup.instance_types
    unknown = [kind for kind in wanted if not catalog.exists(kind)]
    if unknown:
        text = f"The following supplied instance types do not exist: [{', '.join(unknown)}]"
        raise refusal("InvalidParameterException", text, nodegroupName=nodegroup.name)
    market = (data.get("InstanceMarketOptions") or {}).get("MarketType")
    if nodegroup.capacity_type == "CAPACITY_BLOCK" and market != "capacity-block":
        text = "Capacity type CAPACITY_BLOCK requires a launch template with market type capacity-block"
        raise refusal("InvalidParameterException", text, nodegroupName=nodegroup.name)


def _new_nodegroup(site: Site, cluster: Cluster, request: dict[str, Any]) -> Nodegroup:
    template = _template_reference(site, request.get("launchTemplate"))
    in_template = bool(template_data(site, template).get("InstanceType"))
    return Nodegroup(
        name=request["nodegroupName"],
        cluster=cluster.name,
        region=site.region,
        version=request.get("version") or cluster.version,
        role_arn=request["nodeRole"],
        subnets=list(request["subnets"]),
        created_at=site.now(),
        created_s=site.world.clock.timestamp(),
        instance_types=list(request.get("instanceTypes") or ([] if in_template else ["t3.medium"])),
        ami_type=request.get("amiType") or "AL2023_x86_64_STANDARD",
        capacity_type=request.get("capacityType") or "ON_DEMAND",
        scaling=_scaling(request.get("scalingConfig")),
        labels=dict(request.get("labels") or {}),
        taints=[dict(taint) for taint in request.get("taints") or []],
        tags=dict(request.get("tags") or {}),
        launch_template=template,
        disk_size=request.get("diskSize"),
        update_config=dict(request.get("updateConfig") or {"maxUnavailable": 1}),
        node_repair=request.get("nodeRepairConfig"),
    )


def _template_reference(site: Site, wanted: dict[str, Any] | None) -> dict[str, str] | None:
    if not wanted:
        return None
    ec2 = site.ec2
    known = ec2.launch_templates.get(wanted.get("id")) or next(
        (one for one in ec2.launch_templates.values() if one.name == wanted.get("name")), None
    )
    if known is None:
        text = f"Launch template {wanted.get('id') or wanted.get('name')} was not found"
        raise refusal("InvalidParameterException", text)
    return {"id": known.id, "name": known.name, "version": str(wanted.get("version") or known.default_version_number)}


def _apply(nodegroup: Nodegroup, request: dict[str, Any]) -> list[dict[str, str]]:
    """Write an update into a node group; the update's parameters."""
    changed = []
    if scaling := request.get("scalingConfig"):
        wanted = nodegroup.scaling | {key: int(value) for key, value in scaling.items()}
        _check_scaling(wanted, {"nodegroupName": nodegroup.name})
        nodegroup.scaling = wanted
        if (group := nodegroup.group) is not None:
            group.minimum, group.maximum, group.desired = (wanted[k] for k in ("minSize", "maxSize", "desiredSize"))
            group.retry_at = 0.0
        changed += [{"type": f"{key[0].upper()}{key[1:]}", "value": str(value)} for key, value in scaling.items()]
    if labels := request.get("labels"):
        nodegroup.labels |= labels.get("addOrUpdateLabels") or {}
        for key in labels.get("removeLabels") or []:
            nodegroup.labels.pop(key, None)
        changed.append({"type": "LabelsToAdd", "value": str(labels)})
    if taints := request.get("taints"):
        touched = [*(taints.get("addOrUpdateTaints") or []), *(taints.get("removeTaints") or [])]
        keys = {(taint["key"], taint["effect"]) for taint in touched}
        kept = [taint for taint in nodegroup.taints if (taint["key"], taint["effect"]) not in keys]
        nodegroup.taints = kept + [dict(taint) for taint in taints.get("addOrUpdateTaints") or []]
        changed.append({"type": "TaintsToAdd", "value": str(taints)})
    return changed


def _launch_issue(group: ScalingGroup, message: str) -> dict[str, Any]:
    return {"code": "AsgInstanceLaunchFailures", "message": message, "resourceIds": [group.name]}


def _issues(group: ScalingGroup) -> list[dict[str, Any]]:
    """Why a node group could not become ACTIVE."""
    found = []
    failure = next((one for one in group.activities if one.status == "Failed"), None)
    if failure and len(group.nodes) < group.desired:
        found.append(_launch_issue(group, failure.message))
    strangers = [node.instance_id for node in group.nodes if not node.joined]
    if strangers or len(group.nodes) < group.desired:
        ids = strangers or [f"DUMMY_{uuid.uuid4()}"]
        text = "Instances failed to join the kubernetes cluster"
        found.append({"code": "NodeCreationFailure", "message": text, "resourceIds": ids})
    return found
