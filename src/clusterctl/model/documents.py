"""The JSON that other people's scripts read: one function for each kind of thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterctl.model.capacity import Candidate
from clusterctl.model.leftovers import KEPT_UNLESS_PURGED, Resource
from clusterctl.model.target import OperatorLeft, Remains
from clusterctl.model.verification import Check, CheckState, NodeFacts, Verification


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """One place of a capacity search. `hourly_usd` is the price of all nodes asked for."""
    quota = candidate.quota
    return {
        "region": candidate.region,
        "zone": candidate.zone,
        "zone_id": candidate.zone_id,
        "instance_type": candidate.instance_type,
        "nodes": candidate.nodes,
        "offered": candidate.offered,
        "quota": {
            "limit": quota.limit if quota else None,
            "used": quota.used if quota else None,
            "needed": candidate.needed_vcpus,
            "verdict": quota.verdict(candidate.needed_vcpus) if quota else "unknown",
        },
        "spot_score": candidate.spot_score,
        "subnet": candidate.subnet,
        "source": candidate.source.value,
        "verdict": candidate.verdict.value,
        "reason": candidate.reason,
        "hourly_usd": candidate.hourly_usd,
        "rank": candidate.rank,
        "reservation_id": candidate.reservation_id,
    }


def candidates_document(candidates: Iterable[Candidate]) -> dict[str, Any]:
    """All places, best first, and the best of them; null where none can be used."""
    ranked = tuple(candidates)
    best = next((one for one in ranked if one.usable), None)
    return {
        "candidates": [candidate_document(one) for one in ranked],
        "best": candidate_document(best) if best else None,
    }


def verification_document(verification: Verification) -> dict[str, Any]:
    """The verdict on a cluster, node by node and check by check."""
    expected, nodes = verification.expected, verification.nodes
    return {
        "expected": {
            "nodes": expected.nodes,
            "instance_type": expected.instance_type,
            "zone": expected.zone,
            "gpus_per_node": expected.gpus_per_node,
            "efa_per_node": expected.efa_per_node,
            "neuron_per_node": expected.neuron_per_node,
        },
        "nodes": [_node_document(node) for node in nodes],
        "totals": {
            "nodes": len(nodes),
            "ready": sum(node.ready for node in nodes),
            "gpus": sum(node.gpus for node in nodes),
            "efa": sum(node.efa for node in nodes),
            "neuron": sum(node.neuron for node in nodes),
        },
        "checks": [_check_document(check) for check in verification.checks],
    }


def _node_document(node: NodeFacts) -> dict[str, Any]:
    return {
        "name": node.name,
        "ready": node.ready,
        "instance_type": node.instance_type,
        "zone": node.zone,
        "gpus": node.gpus,
        "efa": node.efa,
        "neuron": node.neuron,
        "problems": list(node.problems),
    }


def _check_document(check: Check) -> dict[str, Any]:
    """`ok` is true only for a check that ran and held; one that did not run is marked, and never ok."""
    return {
        "id": check.check_id,
        "ok": check.state is CheckState.OK,
        "skipped": check.state is CheckState.SKIPPED,
        "severity": check.severity,
        "message": check.message,
        "remedy": check.remedy,
    }


def resource_document(resource: Resource) -> dict[str, Any]:
    """Something that is left on AWS, and the command that removes it."""
    return {
        "kind": resource.kind.value,
        "id": resource.resource_id,
        "region": resource.region,
        "monthly_usd": resource.monthly_usd,
        "command": resource.command,
        "why": resource.why,
    }


def kept_documents(left: OperatorLeft) -> list[dict[str, str]]:
    """What stays of an operator, each with its reason."""
    return [{"id": one.name, "why": one.why} for one in left.kept]


def remains_document(remains: Remains, met: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a teardown left: on purpose, and because it could not be removed; `met` says by id what stood in the way."""
    kept = [kept_document(one) for one in remains.kept]
    if remains.kept_cluster:
        kept.append({"id": "cluster", "why": remains.kept_cluster})
    left = [resource_document(one) | {"why": (met or {}).get(one.resource_id, one.why)} for one in remains.removable]
    return {"kept": kept, "leftovers": left}


def kept_document(resource: Resource) -> dict[str, Any]:
    """Something that stays on purpose: why, and what it costs to keep it."""
    why = resource.why
    if resource.owned and resource.kind in KEPT_UNLESS_PURGED:
        why = ", ".join(filter(None, (why, "data: --purge-volumes removes it")))
    return resource_document(resource) | {"why": why}
