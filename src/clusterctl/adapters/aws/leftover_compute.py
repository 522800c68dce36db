"""Leftovers that run: instances and reservations."""

from __future__ import annotations

from collections.abc import Iterator

from clusterctl.adapters.aws.leftover_search import ELSEWHERE, Finder, Search, tags_of
from clusterctl.adapters.aws.prices import TABLE_USD
from clusterctl.adapters.aws.reservations import is_ours, list_alive
from clusterctl.model.cluster import TAG_CLUSTER
from clusterctl.model.leftovers import HOURS_A_MONTH, Resource, ResourceKind, mark_keys

_RUNNING = {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}


def _instances(search: Search) -> Iterator[Resource]:
    filters = [{"Name": "tag-key", "Values": list(mark_keys(search.cluster))}, _RUNNING]
    for booking in search.listed("describe_instances", "Reservations", Filters=filters):
        for one in booking["Instances"]:
            found = search.resource(
                ResourceKind.INSTANCE, one["InstanceId"], tags_of(one), monthly_usd=_monthly(one["InstanceType"], 1)
            )
            found = search.inside(found, one.get("VpcId"))
            if found.owned or found.why == ELSEWHERE:
                yield found


def _reservations(search: Search) -> Iterator[Resource]:
    for one in list_alive(search.client("ec2"), search.region):
        if is_ours(one) and one.tags.get(TAG_CLUSTER) == search.cluster:
            cost = _monthly(one.instance_type, one.total)
            yield search.resource(ResourceKind.RESERVATION, one.reservation_id, one.tags, monthly_usd=cost)


def _monthly(instance_type: str, count: int) -> float | None:
    """At the list price; None for a type without one."""
    price = TABLE_USD.get(instance_type)
    return None if price is None else round(price * count * HOURS_A_MONTH, 2)


COMPUTE: dict[ResourceKind, Finder] = {
    ResourceKind.INSTANCE: _instances,
    ResourceKind.RESERVATION: _reservations,
}
