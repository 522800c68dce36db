"""EKS's API: clusters, node groups and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult, EmptyResult

from clusterctl.sandbox.cloud.answering import page, refusal
from clusterctl.sandbox.cloud.eks import addons
from clusterctl.sandbox.cloud.eks.cluster_things import ThingsResponse
from clusterctl.sandbox.cloud.eks.versions import SUPPORTED_VERSIONS, addon_rows, version_rows

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.model import Cluster, Nodegroup
    from clusterctl.sandbox.cloud.eks.nodegroups import NodegroupKeeper

_CLUSTER_KEYS = (
    "name", "version", "roleArn", "resourcesVpcConfig", "logging", "tags", "accessConfig", "upgradePolicy",
    "deletionProtection",
)  # fmt: skip
_NODEGROUP_KEYS = (
    "clusterName", "nodegroupName", "scalingConfig", "diskSize", "subnets", "instanceTypes", "amiType", "nodeRole",
    "labels", "taints", "tags", "launchTemplate", "updateConfig", "nodeRepairConfig", "capacityType", "version",
)  # fmt: skip


class EksResponse(ThingsResponse):
    """The operations on clusters and node groups."""

    keeper: NodegroupKeeper

    def _request(self, keys: tuple[str, ...]) -> dict[str, Any]:
        return {key: self._get_param(key) for key in keys}

    def create_cluster(self) -> ActionResult:
        return ActionResult({"cluster": self.clusters.create(self.region, self._request(_CLUSTER_KEYS)).describe()})

    def describe_cluster(self) -> ActionResult:
        return ActionResult({"cluster": self._cluster().describe()})

    def list_clusters(self) -> ActionResult:
        return self._names(self.clusters.names_in(self.region), "clusters")

    def delete_cluster(self) -> ActionResult:
        return ActionResult({"cluster": self.clusters.delete(self.region, self._get_param("name")).describe()})

    def update_cluster_config(self) -> ActionResult:
        cluster = self._cluster()
        request = self._request(("resourcesVpcConfig", "logging", "accessConfig", "deletionProtection"))
        if request["resourcesVpcConfig"]:
            cluster.network |= dict(request["resourcesVpcConfig"])
        if request["logging"]:
            cluster.logging = request["logging"]
        if request["accessConfig"]:
            cluster.access |= dict(request["accessConfig"])
        if request["deletionProtection"] is not None:
            cluster.deletion_protection = bool(request["deletionProtection"])
        params = [{"type": key, "value": str(value)} for key, value in request.items() if value is not None]
        return ActionResult({"update": addons.record_update(self.site, cluster, "ConfigUpdate", params)})

    def update_cluster_version(self) -> ActionResult:
        cluster, version = self._cluster(), self._get_param("version")
        if version not in SUPPORTED_VERSIONS:
            text = f"unsupported Kubernetes version {version}"
            raise refusal("InvalidParameterException", text, clusterName=cluster.name)
        cluster.version = version
        params = [{"type": "Version", "value": version}]
        return ActionResult({"update": addons.record_update(self.site, cluster, "VersionUpdate", params)})

    def describe_update(self) -> ActionResult:
        return ActionResult({"update": addons.thing(self._cluster(), addons.UPDATE, self._get_param("updateId"))})

    def list_updates(self) -> ActionResult:
        return self._names(list(self._cluster().all_of(addons.UPDATE)), "updateIds")

    def create_nodegroup(self) -> ActionResult:
        made = self.keeper.create(self.region, self._request(_NODEGROUP_KEYS))
        return ActionResult({"nodegroup": made.describe()})

    def describe_nodegroup(self) -> ActionResult:
        name = self._get_param("nodegroupName")
        found = self.clusters.nodegroup(self.region, self._get_param("clusterName"), name)
        return ActionResult({"nodegroup": found.describe()})

    def list_nodegroups(self) -> ActionResult:
        return self._names(sorted(self._cluster().nodegroups), "nodegroups")

    def delete_nodegroup(self) -> ActionResult:
        where = (self.region, self._get_param("clusterName"), self._get_param("nodegroupName"))
        return ActionResult({"nodegroup": self.keeper.delete(*where).describe()})

    def update_nodegroup_config(self) -> ActionResult:
        request = self._request(("clusterName", "nodegroupName", "labels", "taints", "scalingConfig", "updateConfig"))
        update = self.keeper.update(self.region, request)
        self._cluster().all_of(addons.UPDATE)[update["id"]] = update
        return ActionResult({"update": update})

    def describe_cluster_versions(self) -> ActionResult:
        only_default = bool(self._get_param("defaultOnly"))
        return ActionResult(
            {"clusterVersions": version_rows(self._get_param("clusterVersions"), default_only=only_default)}
        )

    def describe_addon_versions(self) -> ActionResult:
        rows = addon_rows(self._get_param("addonName"), self._get_param("kubernetesVersion"))
        shown, token = page(rows, self._get_param("nextToken"), int(self._get_param("maxResults") or 100))
        return ActionResult({"addons": shown, "nextToken": token})

    def list_fargate_profiles(self) -> ActionResult:
        self._cluster()
        return ActionResult({"fargateProfileNames": []})

    def tag_resource(self) -> ActionResult:
        self._tags().update(dict(self._get_param("tags")))
        return EmptyResult()

    def untag_resource(self) -> ActionResult:
        tags = self._tags()
        for key in self._get_param("tagKeys") or []:
            tags.pop(key, None)
        return EmptyResult()

    def list_tags_for_resource(self) -> ActionResult:
        return ActionResult({"tags": self._tags()})

    def _tags(self) -> dict[str, str]:
        arn = self._get_param("resourceArn")
        for cluster in self.clusters.everywhere():
            owners: list[Cluster | Nodegroup] = [cluster, *cluster.nodegroups.values()]
            for owner in owners:
                if owner.arn == arn:
                    return owner.tags
        raise refusal("NotFoundException", f"Resource was not found: {arn}")
