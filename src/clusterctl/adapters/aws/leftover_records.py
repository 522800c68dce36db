"""Leftovers that cost little and block names: stacks, placement groups, launch templates, logs, OIDC providers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clusterctl.adapters.aws.leftover_search import Finder, Search, tags_of
from clusterctl.model.leftovers import LOG_GIB_MONTH_USD, Resource, ResourceKind


def _stacks(search: Search) -> Iterator[Resource]:
    for page in search.client("cloudformation").get_paginator("describe_stacks").paginate():
        for one in page["Stacks"]:
            found = search.resource(ResourceKind.STACK, one["StackName"], tags_of(one), one["StackStatus"])
            if found.owned and one["StackStatus"] != "DELETE_COMPLETE":
                yield found


def _placement_groups(search: Search) -> Iterator[Resource]:
    for one in search.marked("describe_placement_groups", "PlacementGroups"):
        if one.get("State") not in ("deleting", "deleted"):
            yield search.resource(ResourceKind.PLACEMENT_GROUP, one["GroupName"], tags_of(one))


def _launch_templates(search: Search) -> Iterator[Resource]:
    for one in search.marked("describe_launch_templates", "LaunchTemplates"):
        yield search.resource(
            ResourceKind.LAUNCH_TEMPLATE, one["LaunchTemplateId"], tags_of(one), one["LaunchTemplateName"]
        )


def _log_groups(search: Search) -> Iterator[Resource]:
    """Named after the cluster rather than marked. One that is older than the cluster is of another of its name."""
    for prefix in (f"/aws/eks/{search.cluster}/", f"/aws/containerinsights/{search.cluster}/"):
        pages = search.client("logs").get_paginator("describe_log_groups").paginate(logGroupNamePrefix=prefix)
        for one in (group for page in pages for group in page["logGroups"]):
            gib = one.get("storedBytes", 0) / 2**30
            why, cost = f"named after the cluster, {gib:.2f} GiB of logs", round(gib * LOG_GIB_MONTH_USD, 2)
            found = search.resource(ResourceKind.LOG_GROUP, one["logGroupName"], {}, why, cost)
            yield replace(found, owned=_made_since(search, one.get("creationTime", 0)))


def _made_since(search: Search, milliseconds: int) -> bool:
    """False as well where nobody knows any more when the cluster was made."""
    return search.since is not None and milliseconds / 1000 >= search.since.timestamp()


def _oidc_providers(search: Search) -> Iterator[Resource]:
    """IAM is in no region: the issuer says which region's clusters a provider is for."""
    iam = search.client("iam")
    for one in iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]:
        arn = one["Arn"]
        if f"oidc.eks.{search.region}." not in arn:
            continue
        found = search.resource(
            ResourceKind.OIDC_PROVIDER, arn, tags_of(iam.get_open_id_connect_provider(OpenIDConnectProviderArn=arn))
        )
        if found.owned:
            yield found


RECORDS: dict[ResourceKind, Finder] = {
    ResourceKind.STACK: _stacks,
    ResourceKind.PLACEMENT_GROUP: _placement_groups,
    ResourceKind.LAUNCH_TEMPLATE: _launch_templates,
    ResourceKind.LOG_GROUP: _log_groups,
    ResourceKind.OIDC_PROVIDER: _oidc_providers,
}
