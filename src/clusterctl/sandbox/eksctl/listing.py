"""`eksctl get` and `eksctl utils describe-stacks`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.stacks import cluster_stack, nodegroup_stack

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.session import Session

Rows = list[dict[str, Any]]


def clusters(session: Session, name: str) -> Rows:
    """Every cluster of the region, or one in full under Go's field names."""
    if name:
        found = session.find_cluster(name)
        if found is None:
            text = f"ResourceNotFoundException: No cluster found for name: {name}."
            raise EksctlError(f'unable to describe control plane "{name}": {text}')
        return [_pascal(found)]
    names = session.aws.eks("GET", "/clusters").get("clusters") or []
    return [
        {"Name": one, "Region": session.aws.region, "Owned": str(bool(session.stacks.status(cluster_stack(one))))}
        for one in names
    ]


def nodegroups(session: Session, cluster: str, name: str) -> Rows:
    """The node groups of a cluster."""
    session.operable_cluster(cluster)
    found = [session.nodegroup(cluster, one) for one in session.nodegroup_names(cluster) if name in {"", one}]
    return [_nodegroup_row(session, one) for one in found if one is not None]


def _nodegroup_row(session: Session, nodegroup: dict[str, Any]) -> dict[str, Any]:
    stack = nodegroup_stack(nodegroup["clusterName"], nodegroup["nodegroupName"])
    groups = (nodegroup.get("resources") or {}).get("autoScalingGroups") or []
    sizes = nodegroup["scalingConfig"]
    return {
        "StackName": stack if session.stacks.status(stack) else "",
        "Cluster": nodegroup["clusterName"],
        "Name": nodegroup["nodegroupName"],
        "Status": nodegroup["status"],
        "MaxSize": sizes["maxSize"],
        "MinSize": sizes["minSize"],
        "DesiredCapacity": sizes["desiredSize"],
        "InstanceType": ",".join(nodegroup.get("instanceTypes") or []) or "-",
        "ImageID": nodegroup["amiType"],
        "CreationTime": nodegroup["createdAt"],
        "NodeInstanceRoleARN": nodegroup["nodeRole"],
        "AutoScalingGroupName": groups[0]["name"] if groups else "",
        "Version": nodegroup["version"],
        "Type": "managed",
    }


def stacks(session: Session, cluster: str) -> Rows:
    """The standing stacks of a cluster."""
    names = session.stacks.names(f"eksctl-{cluster}-")
    return [found for name in names if (found := session.stacks.describe(name)) is not None]


def _pascal(value: Any) -> Any:
    if isinstance(value, list):
        return [_pascal(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key[0].upper() + key[1:]: item if key == "tags" else _pascal(item) for key, item in value.items()}


def render(rows: Rows, form: str, what: str) -> str:
    """Rows as JSON, YAML or a table. Raises EksctlError for an empty table."""
    if form == "json":
        return json.dumps(rows, indent=4)
    if form == "yaml":
        import yaml

        return str(yaml.safe_dump(rows, sort_keys=False))
    if not rows:
        raise EksctlError(f"No {what} found")
    head = "\t".join(key.upper() for key in rows[0])
    return "\n".join([head, *("\t".join(str(value) for value in row.values()) for row in rows)])
