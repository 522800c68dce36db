"""On-Demand vCPU quotas: what the account may run in a region and what it runs there now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterctl.adapters.aws.faults import AWS_FAULTS, AwsFault, code_of, failure_of
from clusterctl.adapters.aws.offerings import instance_types
from clusterctl.model.capacity import Quota, Reservation
from clusterctl.model.instances import quota_code

NOT_THERE = "NoSuchResourceException"


def quota_limit(client: Any, code: str) -> tuple[float | None, str]:
    """The applied value, else AWS's default, else None; and why it is unknown. A default is no floor."""
    problem = "AWS names neither an applied value nor a default"
    for ask in (client.get_service_quota, client.get_aws_default_service_quota):
        try:
            return float(ask(ServiceCode="ec2", QuotaCode=code)["Quota"]["Value"]), ""
        except AWS_FAULTS as fault:
            if code_of(fault) != NOT_THERE:
                return None, _why(fault)
    return None, problem


def quotas(
    limits: Mapping[str, tuple[float | None, str]], used: Mapping[str, int] | None, problem: str
) -> dict[str, Quota]:
    """The quotas by code; `used` is None, with the problem, where AWS would not say what runs."""
    return {
        code: Quota(code, limit, None if used is None else used.get(code, 0), unknown or problem)
        for code, (limit, unknown) in limits.items()
    }


def added(*counts: Mapping[str, int]) -> dict[str, int]:
    """The sum of counts, key by key."""
    total: dict[str, int] = {}
    for one in counts:
        for key, count in one.items():
            _add(total, key, count)
    return total


def running_vcpus(ec2: Any) -> dict[str, int]:
    """vCPUs of running On-Demand instances by quota code. Spot and capacity blocks have quotas of their own."""
    counted: dict[str, int] = {}
    unknown: dict[str, int] = {}
    for instance in _on_demand(ec2):
        name, cpu = instance["InstanceType"], instance.get("CpuOptions") or {}
        if cpu.get("CoreCount"):
            _add(counted, quota_code(name), int(cpu["CoreCount"]) * int(cpu.get("ThreadsPerCore", 1)))
        else:
            _add(unknown, name, 1)
    for name, vcpus in _default_vcpus(ec2, unknown).items():
        _add(counted, quota_code(name), vcpus * unknown[name])
    return counted


def idle_vcpus(ec2: Any, reservations: Iterable[Reservation], account_id: str) -> dict[str, int]:
    """vCPUs that active reservations of the account hold unused, by quota code: they count as if they ran."""
    idle: dict[str, int] = {}
    for one in reservations:
        ours = one.owner_id in ("", account_id)
        if one.state == "active" and not one.is_block and ours and not one.is_probe:
            _add(idle, one.instance_type, one.available)
    counted: dict[str, int] = {}
    for name, vcpus in _default_vcpus(ec2, idle).items():
        _add(counted, quota_code(name), vcpus * idle[name])
    return counted


def _on_demand(ec2: Any) -> Iterable[dict[str, Any]]:
    pages = ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "instance-state-name", "Values": ["pending", "running"]}],
        PaginationConfig={"PageSize": 1000},
    )
    for page in pages:
        for group in page["Reservations"]:
            for one in group["Instances"]:
                if not one.get("InstanceLifecycle") and one.get("Placement", {}).get("Tenancy") != "host":
                    yield one


def _default_vcpus(ec2: Any, counts: Mapping[str, int]) -> dict[str, int]:
    names = [name for name, count in counts.items() if count]
    return {name: kind.vcpus for name, kind in instance_types(ec2, names).items()} if names else {}


def _add(counts: dict[str, int], key: str, more: int) -> None:
    counts[key] = counts.get(key, 0) + more


def _why(fault: AwsFault) -> str:
    failure = failure_of(fault)
    return f"{failure.cause.value}: {failure.message or failure.code}"
