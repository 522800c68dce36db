"""Add-ons, access entries, pod identities and updates of a cluster."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.cloud.answering import refusal
from clusterctl.sandbox.cloud.eks.versions import ADDON_VERSIONS
from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.model import Cluster
    from clusterctl.sandbox.cloud.site import Site

ADDON, ACCESS, IDENTITY, UPDATE = "addon", "access-entry", "pod-identity", "update"
_READY_S, _GONE_S, _PATIENCE_S = 45.0, 20.0, 1200.0
_NEEDS_NODES = frozenset({"coredns", "metrics-server", "aws-ebs-csi-driver", "aws-efs-csi-driver"})


def thing(cluster: Cluster, kind: str, key: str) -> dict[str, Any]:
    """One of a cluster's things. Raises ResourceNotFoundException."""
    found = cluster.all_of(kind).get(key)
    if found is None:
        text = f"No {kind}: {key} found in cluster: {cluster.name}"
        raise refusal("ResourceNotFoundException", text, clusterName=cluster.name)
    return found


def create_addon(site: Site, cluster: Cluster, request: dict[str, Any]) -> dict[str, Any]:
    """Begin an add-on; those with pods stay CREATING, then DEGRADED, while no node can take them."""
    name = request["addonName"]
    if cluster.status != "ACTIVE":
        text = f"Cluster {cluster.name} is not in ACTIVE status"
        raise refusal("InvalidRequestException", text, clusterName=cluster.name)
    if name not in ADDON_VERSIONS:
        raise refusal("InvalidParameterException", f"Addon {name} specified is not supported", addonName=name)
    if name in cluster.all_of(ADDON):
        raise refusal("ResourceInUseException", "Addon already exists.", clusterName=cluster.name, addonName=name)
    version = request.get("addonVersion")
    addon: dict[str, Any] = {
        "addonName": name,
        "clusterName": cluster.name,
        "status": "CREATING",
        "addonVersion": ADDON_VERSIONS[name] if version in {None, "", "latest", "default"} else version,
        "health": {"issues": []},
        "addonArn": f"arn:aws:eks:{cluster.region}:{ACCOUNT_ID}:addon/{cluster.name}/{name}/{uuid.uuid4()}",
        "createdAt": site.now(),
        "modifiedAt": site.now(),
        "serviceAccountRoleArn": request.get("serviceAccountRoleArn"),
        "configurationValues": request.get("configurationValues"),
        "tags": dict(request.get("tags") or {}),
    }
    cluster.all_of(ADDON)[name] = addon
    site.later(_READY_S, lambda: _judge_addon(site, cluster, addon, _PATIENCE_S))
    return addon


def _judge_addon(site: Site, cluster: Cluster, addon: dict[str, Any], patience_s: float) -> None:
    if addon["status"] == "DELETING":
        return
    nodes = sum(group.group.joined for group in cluster.nodegroups.values() if group.group)
    if nodes or addon["addonName"] not in _NEEDS_NODES:
        addon["status"], addon["health"] = "ACTIVE", {"issues": []}
        return
    if patience_s <= 0:
        text = "The add-on is unhealthy because it doesn't have the desired number of replicas."
        issue = {"code": "InsufficientNumberOfReplicas", "message": text, "resourceIds": []}
        addon["status"], addon["health"] = "DEGRADED", {"issues": [issue]}
    site.later(30.0, lambda: _judge_addon(site, cluster, addon, patience_s - 30.0))


def delete_addon(site: Site, cluster: Cluster, name: str) -> dict[str, Any]:
    """Begin to delete an add-on."""
    addon = thing(cluster, ADDON, name)
    addon["status"] = "DELETING"
    site.later(_GONE_S, lambda: cluster.all_of(ADDON).pop(name, None))
    return addon


def update_addon(site: Site, cluster: Cluster, request: dict[str, Any]) -> dict[str, Any]:
    """Change an add-on's version, configuration or role; the update's record."""
    addon = thing(cluster, ADDON, request["addonName"])
    for key in ("addonVersion", "configurationValues", "serviceAccountRoleArn"):
        if request.get(key) is not None:
            addon[key] = request[key]
    addon["modifiedAt"] = site.now()
    return record_update(site, cluster, "AddonUpdate", [])


def create_access_entry(site: Site, cluster: Cluster, request: dict[str, Any]) -> dict[str, Any]:
    """An access entry for an IAM principal."""
    principal = request["principalArn"]
    if cluster.access["authenticationMode"] == "CONFIG_MAP":
        modes = "[API, API_AND_CONFIG_MAP]"
        text = f"The cluster's authentication mode must be set to one of {modes} to perform this operation."
        raise refusal("InvalidRequestException", text, clusterName=cluster.name)
    if principal in cluster.all_of(ACCESS):
        text = "The specified access entry resource is already in use on this cluster."
        raise refusal("ResourceInUseException", text, clusterName=cluster.name)
    entry = {
        "clusterName": cluster.name,
        "principalArn": principal,
        "kubernetesGroups": list(request.get("kubernetesGroups") or []),
        "accessEntryArn": f"arn:aws:eks:{cluster.region}:{ACCOUNT_ID}:access-entry/{cluster.name}/{uuid.uuid4()}",
        "createdAt": site.now(),
        "modifiedAt": site.now(),
        "tags": dict(request.get("tags") or {}),
        "username": request.get("username") or principal,
        "type": request.get("type") or "STANDARD",
        "policies": {},
    }
    cluster.all_of(ACCESS)[principal] = entry
    return entry


def associate_policy(site: Site, cluster: Cluster, request: dict[str, Any]) -> dict[str, Any]:
    """Give an access entry a policy."""
    entry = thing(cluster, ACCESS, request["principalArn"])
    policy = {
        "policyArn": request["policyArn"],
        "accessScope": request["accessScope"],
        "associatedAt": site.now(),
        "modifiedAt": site.now(),
    }
    entry["policies"][request["policyArn"]] = policy
    return policy


def create_pod_identity(site: Site, cluster: Cluster, request: dict[str, Any]) -> dict[str, Any]:
    """Associate a role with a service account."""
    where = (request["namespace"], request["serviceAccount"])
    for other in cluster.all_of(IDENTITY).values():
        if (other["namespace"], other["serviceAccount"]) == where:
            text = f"Association already exists: {other['associationId']}"
            raise refusal("ResourceInUseException", text, clusterName=cluster.name)
    key = f"a-{uuid.uuid4().hex[:17]}"
    association = {
        "clusterName": cluster.name,
        "namespace": where[0],
        "serviceAccount": where[1],
        "roleArn": request["roleArn"],
        "associationArn": f"arn:aws:eks:{cluster.region}:{ACCOUNT_ID}:podidentityassociation/{cluster.name}/{key}",
        "associationId": key,
        "tags": dict(request.get("tags") or {}),
        "createdAt": site.now(),
        "modifiedAt": site.now(),
    }
    cluster.all_of(IDENTITY)[key] = association
    return association


def record_update(site: Site, cluster: Cluster, kind: str, params: list[dict[str, str]]) -> dict[str, Any]:
    """An update of a cluster, in progress for a minute."""
    update: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "status": "InProgress",
        "type": kind,
        "params": params,
        "createdAt": site.now(),
        "errors": [],
    }
    cluster.all_of(UPDATE)[update["id"]] = update
    site.later(60.0, lambda: update.update(status="Successful"))
    return update
