"""What the account holds beyond the defaults of an untouched one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clusterctl.sandbox.cloud.extension import Inventory, Row
    from clusterctl.sandbox.cloud.world import World

_LIVE = {"active", "pending", "scheduled"}
_GLOBAL = "global"


def inventory(world: World) -> Inventory:
    """Region -> kind -> rows, read from moto's stores and from the world. The caller holds the lock."""
    found: Inventory = {region: _ec2_rows(store) for region, store in _stores("ec2").items()}
    for service, reader in _READERS.items():
        for region, store in _stores(service).items():
            found.setdefault(region, {}).update(reader(store))
    found[_GLOBAL] = _iam_rows(_stores("iam").get("aws"))
    for region in world.geography.enabled:
        found.setdefault(region, {}).update(_world_rows(world, region))
    return found


def _stores(service: str) -> dict[str, Any]:
    """The stores that exist; asking for others would create them."""
    import importlib

    models = importlib.import_module(f"moto.{service}.models")
    per_account = getattr(models, f"{service}_backends")
    return dict(per_account[ACCOUNT_ID]) if ACCOUNT_ID in list(per_account.keys()) else {}


def _world_rows(world: World, region: str) -> dict[str, list[Row]]:
    reservations = [r for r in world.reservations.at(world.now()) if r.zone.region == region]
    return {
        "reservations": [
            {
                "id": r.reservation_id,
                "state": r.state,
                "zone": r.zone.name,
                "instance_type": r.instance_type,
                "total": r.total,
                "available": r.available,
                "kind": r.kind,
                "given": r.given,
            }
            for r in reservations
            if r.state in _LIVE
        ],
        "placement_groups": [
            {"id": group.group_id, "name": group.name} for group in world.placement_groups.in_region(region)
        ],
    }


def _ec2_rows(store: Any) -> dict[str, list[Row]]:
    vpcs = [vpc for vpc in store.vpcs.values() if not _is_true(vpc.is_default)]
    kept = {vpc.id for vpc in vpcs}
    instances = [i for i in store.all_instances() if i.state_code != 48]
    groups = [group for by_vpc in store.groups.values() for group in by_vpc.values()]
    return {
        "vpcs": _rows(vpcs),
        "subnets": _rows(s for zone in store.subnets.values() for s in zone.values() if s.vpc_id in kept),
        "instances": [
            {"id": i.id, "state": i.state, "instance_type": i.instance_type, "zone": i.placement.zone, "tags": _tags(i)}
            for i in instances
        ],
        "network_interfaces": _rows(store.enis.values()),
        "volumes": _rows(store.volumes.values()),
        "security_groups": [_row(g) | {"name": g.name} for g in groups if g.name != "default"],
        "launch_templates": [_row(t) | {"name": t.name} for t in store.launch_templates.values()],
        "nat_gateways": _rows(g for g in store.nat_gateways.values() if g.state != "deleted"),
        "internet_gateways": _rows(store.internet_gateways.values()),
        "addresses": [{"id": a.allocation_id, "tags": _tags(a)} for a in store.addresses],
        "key_pairs": [{"id": pair.name} for pair in store.key_pairs.values()],
    }


def _iam_rows(store: Any) -> dict[str, list[Row]]:
    if store is None:
        return {}
    return {
        "roles": [{"id": role.name, "arn": role.arn, "tags": dict(role.tags)} for role in store.roles.values()],
        "instance_profiles": [{"id": profile.name} for profile in store.instance_profiles.values()],
        "oidc_providers": [{"id": arn} for arn in store.open_id_providers],
    }


_READERS: dict[str, Callable[[Any], dict[str, list[Row]]]] = {
    "elb": lambda store: {"load_balancers": [{"id": name} for name in store.load_balancers]},
    "elbv2": lambda store: {
        "load_balancers_v2": [{"id": arn} for arn in store.load_balancers],
        "target_groups": [{"id": arn} for arn in store.target_groups],
    },
    "logs": lambda store: {"log_groups": [{"id": name} for name in store.groups]},
    "efs": lambda store: {"file_systems": [{"id": name} for name in store.file_systems_by_id]},
    "fsx": lambda store: {"lustre_file_systems": [{"id": name} for name in store.file_systems]},
}


def _rows(things: Iterable[Any]) -> list[Row]:
    return [_row(thing) for thing in things]


def _row(thing: Any) -> Row:
    return {"id": thing.id, "tags": _tags(thing)}


def _tags(thing: Any) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in thing.get_tags()}


def _is_true(value: object) -> bool:
    return value in (True, "true", "True")
