"""One search for leftovers: where it looks, for whom, and how a find becomes a Resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from clusterctl.adapters.aws.session import AwsSession
from clusterctl.model.cluster import TAG_CLUSTER
from clusterctl.model.leftovers import (
    HOURLY_USD,
    HOURS_A_MONTH,
    Resource,
    ResourceKind,
    mark_keys,
    names_cluster,
    removal_command,
)

UNMARKED = "stands in the cluster's VPC and does not carry its mark"
ELSEWHERE = "names a cluster of this name, and stands in another VPC"


@dataclass(frozen=True, slots=True)
class Search:
    """For one cluster in one region. `volumes` are ids of what the cluster itself made, `vpcs` all VPCs of its own."""

    session: AwsSession
    region: str
    cluster: str
    vpc_id: str = ""
    volumes: frozenset[str] = frozenset()
    vpcs: frozenset[str] = frozenset()
    since: datetime | None = None

    def client(self, service: str) -> Any:
        return self.session.client(service, self.region)

    def marked(self, operation: str, key: str, **more: Any) -> Iterator[dict[str, Any]]:
        """What EC2 lists under one of the cluster's tag keys, page by page, judged by the tags' values."""
        filters = [{"Name": "tag-key", "Values": list(mark_keys(self.cluster))}, *more.pop("Filters", ())]
        for one in self.listed(operation, key, Filters=filters, **more):
            if names_cluster(tags_of(one), self.cluster):
                yield one

    def listed(self, operation: str, key: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        ec2 = self.client("ec2")
        if ec2.can_paginate(operation):
            pages: Iterable[Any] = ec2.get_paginator(operation).paginate(**arguments)
        else:
            pages = (getattr(ec2, operation)(**arguments),)
        for page in pages:
            yield from page.get(key, ())

    def resource(
        self,
        kind: ResourceKind,
        resource_id: str,
        tags: Mapping[str, str],
        why: str = "",
        monthly_usd: float | None = None,
    ) -> Resource:
        """A find; its mark decides whether it is owned."""
        owned = names_cluster(tags, self.cluster) or resource_id in self.volumes
        hourly = HOURLY_USD.get(kind)
        return Resource(
            kind=kind,
            resource_id=resource_id,
            region=self.region,
            owned=owned,
            why=why if owned or why else UNMARKED,
            monthly_usd=monthly_usd if monthly_usd is not None or hourly is None else round(hourly * HOURS_A_MONTH, 2),
            command=removal_command(kind, resource_id, self.region),
            tags=dict(tags),
        )

    def inside(self, found: Resource, vpc_id: str | None) -> Resource:
        """A find in the network. Names of clusters come again, VPCs do not: elsewhere only our own mark counts."""
        if not found.owned or vpc_id in self.vpcs or found.tags.get(TAG_CLUSTER) == self.cluster:
            return found
        return replace(found, owned=False, why=ELSEWHERE)


Finder = Callable[[Search], Iterable[Resource]]


def tags_of(described: Mapping[str, Any]) -> dict[str, str]:
    """Tags as EC2, Elastic Load Balancing, CloudFormation and IAM list them."""
    return {tag["Key"]: tag.get("Value", "") for tag in described.get("Tags") or described.get("TagSet") or ()}
