"""Which place comes next after some have failed: zones first, then regions, then the next wanted instance type."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from clusterctl.errors import CapacityUnavailableError
from clusterctl.model.capacity import Candidate
from clusterctl.model.documents import candidates_document
from clusterctl.model.failures import Cause, Failure, Remedy

MOST_LISTED = 6  # places named in the one line of an error; all of them are in its details


def next_place(left: Iterable[Candidate], here: str, hinted: Collection[str] = ()) -> Candidate | None:
    """The best of the places that are left, which come ranked: the type of the first one is the most wanted.

    Places of that type in the region `here` come before those elsewhere, which need another cluster; among them come
    first the zones that EC2 itself has named.
    """
    ranked = tuple(left)
    wanted = [one for one in ranked if one.instance_type == ranked[0].instance_type]
    near = [one for one in wanted if one.region == here]
    return next((one for one in near if one.zone in hinted), next(iter((*near, *wanted)), None))


def another_place_helps(failure: Failure, *, held: bool) -> bool:
    """False where every other place would fail in the same way, so that one attempt is enough.

    A reservation that the user names is all that is wanted; one that only `held` capacity leaves the other places.
    """
    if failure.cause is Cause.RESERVATION:
        return held
    return failure.remedy in (Remedy.NEXT_ZONE, Remedy.NEXT_REGION)


def nowhere(candidates: Iterable[Candidate], nodes: int, hint: str) -> CapacityUnavailableError:
    """The error once no place is left: each of them with its reason, in its details and its document."""
    places = tuple(candidates)
    reasons = [f"{one.instance_type} in {one.zone or one.region}: {one.reason or one.verdict.value}" for one in places]
    regions = ", ".join(dict.fromkeys(one.region for one in places))
    types = ", ".join(dict.fromkeys(one.instance_type for one in places))
    told = "; ".join(reasons[:MOST_LISTED]) + (
        f"; and {len(reasons) - MOST_LISTED} more" if len(reasons) > MOST_LISTED else ""
    )
    error = CapacityUnavailableError(
        f"no zone of {regions} has room for {nodes} x {types}: {told}", hint=hint, details="\n".join(reasons)
    )
    return error.with_document(candidates_document(places))
