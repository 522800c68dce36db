"""Leftovers that run or store: instances, reservations, volumes and snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterctl.adapters.aws.leftover_search import Finder, Search, tags_of
from clusterctl.adapters.aws.prices import TABLE_USD
from clusterctl.adapters.aws.reservations import is_ours, list_alive
from clusterctl.model.cluster import TAG_CLUSTER
from clusterctl.model.leftovers import GIB_MONTH_USD, HOURS_A_MONTH, SNAPSHOT_GIB_MONTH_USD, Resource, ResourceKind

_RUNNING = {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}


def _instances(search: Search) -> Iterator[Resource]:
    filters = [{"Name": "tag-key", "Values": _keys(search)}, _RUNNING]
    for booking in search.listed("describe_instances", "Reservations", Filters=filters):
        for one in booking["Instances"]:
            found = search.resource(
                ResourceKind.INSTANCE, one["InstanceId"], tags_of(one), monthly_usd=_monthly(one["InstanceType"], 1)
            )
            if found.owned:
                yield found


def _keys(search: Search) -> list[str]:
    from clusterctl.model.leftovers import mark_keys

    return list(mark_keys(search.cluster))


def _reservations(search: Search) -> Iterator[Resource]:
    for one in list_alive(search.client("ec2"), search.region):
        if is_ours(one) and one.tags.get(TAG_CLUSTER) == search.cluster:
            cost = _monthly(one.instance_type, one.total)
            yield search.resource(ResourceKind.RESERVATION, one.reservation_id, one.tags, monthly_usd=cost)


def _volumes(search: Search) -> Iterator[Resource]:
    """By mark, and those whose ids the cluster's own PersistentVolumes gave: the CSI driver's tag names no cluster."""
    found = {one["VolumeId"]: one for one in search.marked("describe_volumes", "Volumes")}
    if search.volumes:
        named = [{"Name": "volume-id", "Values": sorted(search.volumes)}]
        found |= {one["VolumeId"]: one for one in search.listed("describe_volumes", "Volumes", Filters=named)}
    for volume_id, one in found.items():
        if one["State"] not in ("deleting", "deleted") and not _goes_with_its_instance(one):
            cost = round(one["Size"] * GIB_MONTH_USD.get(one["VolumeType"], 0.08), 2)
            claim = tags_of(one).get("kubernetes.io/created-for/pvc/name", "")
            why = f"{one['Size']} GiB {one['VolumeType']}" + (f" of claim {claim}" if claim else "")
            yield search.resource(ResourceKind.VOLUME, volume_id, tags_of(one), why, cost)


def _goes_with_its_instance(volume: dict[str, Any]) -> bool:
    return any(one.get("DeleteOnTermination") for one in volume.get("Attachments", ()))


def _snapshots(search: Search) -> Iterator[Resource]:
    for one in search.marked("describe_snapshots", "Snapshots", OwnerIds=["self"]):
        cost = round(one["VolumeSize"] * SNAPSHOT_GIB_MONTH_USD, 2)
        yield search.resource(
            ResourceKind.SNAPSHOT, one["SnapshotId"], tags_of(one), f"of {one['VolumeId']}, at most", cost
        )


def _monthly(instance_type: str, count: int) -> float | None:
    """At the list price; None for a type without one."""
    price = TABLE_USD.get(instance_type)
    return None if price is None else round(price * count * HOURS_A_MONTH, 2)


COMPUTE: dict[ResourceKind, Finder] = {
    ResourceKind.INSTANCE: _instances,
    ResourceKind.RESERVATION: _reservations,
    ResourceKind.VOLUME: _volumes,
    ResourceKind.SNAPSHOT: _snapshots,
}
