"""Leftovers that store: volumes, snapshots, and file systems of EFS and FSx. All of them are somebody's data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusterctl.adapters.aws.leftover_search import Finder, Search, tags_of
from clusterctl.model.leftovers import (
    EFS_GIB_MONTH_USD,
    GIB_MONTH_USD,
    LUSTRE_GIB_MONTH_USD,
    SNAPSHOT_GIB_MONTH_USD,
    Resource,
    ResourceKind,
)


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
    found = {one["SnapshotId"]: one for one in search.marked("describe_snapshots", "Snapshots", OwnerIds=["self"])}
    if search.volumes:
        named = [{"Name": "snapshot-id", "Values": sorted(search.volumes)}]
        found |= {one["SnapshotId"]: one for one in search.listed("describe_snapshots", "Snapshots", Filters=named)}
    for one in found.values():
        cost = round(one["VolumeSize"] * SNAPSHOT_GIB_MONTH_USD, 2)
        yield search.resource(
            ResourceKind.SNAPSHOT, one["SnapshotId"], tags_of(one), f"of {one['VolumeId']}, at most", cost
        )


def _file_systems(search: Search) -> Iterator[Resource]:
    """By mark alone: a driver makes access points inside of somebody's file system, and rarely a file system."""
    for page in search.client("efs").get_paginator("describe_file_systems").paginate():
        for one in page["FileSystems"]:
            gib = one["SizeInBytes"]["Value"] / 2**30
            cost = round(gib * EFS_GIB_MONTH_USD, 2)
            why = f"EFS, {gib:.1f} GiB"
            found = search.resource(ResourceKind.FILE_SYSTEM, one["FileSystemId"], tags_of(one), why, cost)
            if found.owned and one["LifeCycleState"] not in ("deleting", "deleted"):
                yield found


def _lustre(search: Search) -> Iterator[Resource]:
    for page in search.client("fsx").get_paginator("describe_file_systems").paginate():
        for one in page["FileSystems"]:
            cost = round(one["StorageCapacity"] * LUSTRE_GIB_MONTH_USD, 2)
            why = f"FSx, {one['StorageCapacity']} GiB"
            found = search.resource(ResourceKind.LUSTRE, one["FileSystemId"], tags_of(one), why, cost)
            if found.owned and one.get("Lifecycle") != "DELETING":
                yield found


STORAGE: dict[ResourceKind, Finder] = {
    ResourceKind.VOLUME: _volumes,
    ResourceKind.SNAPSHOT: _snapshots,
    ResourceKind.FILE_SYSTEM: _file_systems,
    ResourceKind.LUSTRE: _lustre,
}
