"""EKS's API: add-ons, access entries and pod identities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult, EmptyResult

from clusterctl.sandbox.cloud.answering import OwnResponse, page
from clusterctl.sandbox.cloud.eks import addons

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.clusters import ClusterStore
    from clusterctl.sandbox.cloud.eks.model import Cluster

_ADDON_KEYS = ("addonName", "addonVersion", "serviceAccountRoleArn", "configurationValues", "tags")
_ACCESS_KEYS = ("principalArn", "kubernetesGroups", "username", "type", "tags")
_IDENTITY_KEYS = ("namespace", "serviceAccount", "roleArn", "tags")


class ThingsResponse(OwnResponse):
    """The operations on what belongs to one cluster."""

    service = "eks"
    clusters: ClusterStore

    def _cluster(self) -> Cluster:
        return self.clusters.get(self.region, self._get_param("clusterName") or self._get_param("name"))

    def _given(self, keys: tuple[str, ...]) -> dict[str, Any]:
        return {key: self._get_param(key) for key in keys}

    def _names(self, names: list[str], key: str) -> ActionResult:
        shown, token = page(names, self._get_param("nextToken"), int(self._get_param("maxResults") or 100))
        return ActionResult({key: shown, "nextToken": token})

    def create_addon(self) -> ActionResult:
        return ActionResult({"addon": addons.create_addon(self.site, self._cluster(), self._given(_ADDON_KEYS))})

    def describe_addon(self) -> ActionResult:
        return ActionResult({"addon": addons.thing(self._cluster(), addons.ADDON, self._get_param("addonName"))})

    def list_addons(self) -> ActionResult:
        return self._names(sorted(self._cluster().all_of(addons.ADDON)), "addons")

    def update_addon(self) -> ActionResult:
        return ActionResult({"update": addons.update_addon(self.site, self._cluster(), self._given(_ADDON_KEYS))})

    def delete_addon(self) -> ActionResult:
        return ActionResult({"addon": addons.delete_addon(self.site, self._cluster(), self._get_param("addonName"))})

    def create_access_entry(self) -> ActionResult:
        entry = addons.create_access_entry(self.site, self._cluster(), self._given(_ACCESS_KEYS))
        return ActionResult({"accessEntry": entry})

    def describe_access_entry(self) -> ActionResult:
        return ActionResult({"accessEntry": self._entry()})

    def list_access_entries(self) -> ActionResult:
        return self._names(sorted(self._cluster().all_of(addons.ACCESS)), "accessEntries")

    def delete_access_entry(self) -> ActionResult:
        self._cluster().all_of(addons.ACCESS).pop(self._entry()["principalArn"])
        return EmptyResult()

    def associate_access_policy(self) -> ActionResult:
        request = self._given(("principalArn", "policyArn", "accessScope"))
        policy = addons.associate_policy(self.site, self._cluster(), request)
        whose = {"clusterName": self._cluster().name, "principalArn": request["principalArn"]}
        return ActionResult(whose | {"associatedAccessPolicy": policy})

    def disassociate_access_policy(self) -> ActionResult:
        self._entry()["policies"].pop(self._get_param("policyArn"), None)
        return EmptyResult()

    def list_associated_access_policies(self) -> ActionResult:
        entry = self._entry()
        whose = {"clusterName": entry["clusterName"], "principalArn": entry["principalArn"]}
        return ActionResult(whose | {"associatedAccessPolicies": list(entry["policies"].values())})

    def _entry(self) -> dict[str, Any]:
        return addons.thing(self._cluster(), addons.ACCESS, self._get_param("principalArn"))

    def create_pod_identity_association(self) -> ActionResult:
        made = addons.create_pod_identity(self.site, self._cluster(), self._given(_IDENTITY_KEYS))
        return ActionResult({"association": made})

    def describe_pod_identity_association(self) -> ActionResult:
        return ActionResult({"association": self._association()})

    def list_pod_identity_associations(self) -> ActionResult:
        wanted = self._given(("namespace", "serviceAccount"))
        rows = [
            row
            for row in self._cluster().all_of(addons.IDENTITY).values()
            if all(value in {None, row[key]} for key, value in wanted.items())
        ]
        return ActionResult({"associations": rows})

    def delete_pod_identity_association(self) -> ActionResult:
        return ActionResult(
            {"association": self._cluster().all_of(addons.IDENTITY).pop(self._association()["associationId"])}
        )

    def _association(self) -> dict[str, Any]:
        return addons.thing(self._cluster(), addons.IDENTITY, self._get_param("associationId"))
