"""The JSON that other people's scripts read: one function for each kind of thing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusterctl.model.capacity import Candidate


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
