"""Finds what carries clusterctl's marks, region by region, without any memory of what was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clusterctl.adapters.aws.clusters import found_or_none
from clusterctl.adapters.aws.fanout import side_by_side
from clusterctl.adapters.aws.faults import AWS_FAULTS, failure_of, translated
from clusterctl.adapters.aws.reservations import is_ours, list_alive
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_OWNER, TAG_RUN
from clusterctl.model.estate import Estate, Marked, MarkedKind, Sweep, estates_of, is_marked
from clusterctl.model.failures import Cause, Failure, Remedy, Scope

SWEEP_LIMIT_S = 120.0
_OTHERWISE_FOUND = ("capacity-reservation", "capacity-block")
_KEYS = [TAG_RUN, TAG_CLUSTER, TAG_EXPIRES, TAG_OWNER]


class MarkSearch:
    """Implements ports.MarkReader."""

    def __init__(self, session: AwsSession) -> None:
        self._session = session

    def sweep(self, regions: Sequence[str]) -> Sweep:
        """Regions side by side. One that does not answer is a problem of its own, not an empty region."""
        answers = side_by_side(regions, self._region, limit_s=SWEEP_LIMIT_S)
        told = {name: one for name, one in answers.items() if not isinstance(one, Failure)}
        problems = {name: one for name, one in answers.items() if isinstance(one, Failure)}
        problems |= {name: _silence() for name in regions if name not in answers}
        return Sweep(
            tuple(estate for name in regions if name in told for estate in told[name][0]),
            tuple((name, one) for name in regions if name in told for one in told[name][1]),
            problems,
        )

    def estate(self, region: str, cluster: str) -> Estate:
        """What carries the marks of one cluster; without any things where there is nothing."""
        with translated(f"look for {cluster} in {region}"):
            things, strangers = self._things(region, [cluster])
        found = [one for one in things if one.cluster == cluster]
        return Estate(region, cluster, tuple(found), foreign=cluster in strangers)

    def _region(self, region: str) -> tuple[tuple[Estate, ...], tuple[str, ...]] | Failure:
        try:
            names = [name for page in self._pages(region, "eks", "list_clusters") for name in page["clusters"]]
            things, strangers = self._things(region, names)
        except AWS_FAULTS as fault:
            return failure_of(fault)
        return estates_of(region, things, strangers), strangers

    def _things(self, region: str, clusters: Sequence[str]) -> tuple[list[Marked], tuple[str, ...]]:
        """Everything marked, and those of the clusters that are there and are not ours."""
        things, strangers = [], []
        eks = self._session.client("eks", region)
        for name in clusters:
            cluster = found_or_none(eks.describe_cluster, "cluster", name=name)
            if cluster is None:
                continue
            tags = cluster.get("tags", {})
            if is_marked(tags) and tags[TAG_CLUSTER] == name:
                things.append(Marked(MarkedKind.CLUSTER, cluster["arn"], tags, cluster.get("createdAt"), name))
            else:
                strangers.append(name)
            things.extend(_nodegroups(eks, name))
        things.extend(self._stacks(region))
        things.extend(self._reservations(region))
        things.extend(self._resources(region))
        return things, tuple(strangers)

    def _stacks(self, region: str) -> Iterator[Marked]:
        for page in self._pages(region, "cloudformation", "describe_stacks"):
            for one in page["Stacks"]:
                tags = {tag["Key"]: tag["Value"] for tag in one.get("Tags", ())}
                if is_marked(tags) and one["StackStatus"] != "DELETE_COMPLETE":
                    name = one["StackName"]
                    yield Marked(MarkedKind.STACK, one["StackId"], tags, one.get("CreationTime"), name)

    def _reservations(self, region: str) -> Iterator[Marked]:
        for one in list_alive(self._session.client("ec2", region), region):
            if is_ours(one):
                used = one.available < one.total
                yield Marked(MarkedKind.RESERVATION, one.reservation_id, one.tags, one.start, used=used)

    def _resources(self, region: str) -> Iterator[Marked]:
        """All that EC2 lets be tagged, by one call instead of one for each kind."""
        tags: dict[str, dict[str, str]] = {}
        for page in self._pages(region, "ec2", "describe_tags", Filters=[{"Name": "key", "Values": _KEYS}]):
            for row in page["Tags"]:
                if row["ResourceType"] not in _OTHERWISE_FOUND:
                    tags.setdefault(row["ResourceId"], {})[row["Key"]] = row["Value"]
        yield from (Marked(MarkedKind.RESOURCE, one, marks) for one, marks in tags.items() if is_marked(marks))

    def _pages(self, region: str, service: str, operation: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        yield from self._session.client(service, region).get_paginator(operation).paginate(**arguments)


def _nodegroups(eks: Any, cluster: str) -> Iterator[Marked]:
    """Node groups of ours, also in a cluster that is not."""
    for page in eks.get_paginator("list_nodegroups").paginate(clusterName=cluster):
        for name in page["nodegroups"]:
            found = found_or_none(eks.describe_nodegroup, "nodegroup", clusterName=cluster, nodegroupName=name)
            tags = found.get("tags", {}) if found else {}
            if found and is_marked(tags) and tags[TAG_CLUSTER] == cluster:
                yield Marked(MarkedKind.NODEGROUP, found["nodegroupArn"], tags, found.get("createdAt"), name)


def _silence() -> Failure:
    message = f"no answer within {SWEEP_LIMIT_S:.0f} s"
    return Failure(Cause.TRANSIENT, Scope.CALL, Remedy.RETRY, "NoAnswer", message)
