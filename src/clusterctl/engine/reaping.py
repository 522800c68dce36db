"""What a reaping amounts to: one report over all clusters, and the error that it ends with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clusterctl.engine.pipeline import RunResult
from clusterctl.errors import AccessError, ClusterctlError, LeftoversError
from clusterctl.model.documents import remains_document
from clusterctl.model.estate import Judgement, Sweep
from clusterctl.model.failures import Cause
from clusterctl.model.target import Remains


@dataclass(frozen=True, slots=True)
class Reaped:
    """What came of one estate. `judgement` is that of the last look, when its lock was held."""

    judgement: Judgement
    runs: tuple[RunResult, ...] = ()
    error: ClusterctlError | None = None

    @property
    def remains(self) -> tuple[Remains, ...]:
        return tuple(run.outputs[Remains] for run in self.runs if Remains in run.outputs)


def reap_document(done: Sequence[Reaped], spared: Sequence[Judgement], sweep: Sweep) -> dict[str, Any]:
    """One report: what went, what stayed and why, what could not be removed, and where nobody could look."""
    kept = [*_kept(done), *_spared((*spared, *(one.judgement for one in done))), *_strangers(sweep)]
    documents = [one.error.document for one in done if one.error]
    left = [row for found in done for one in found.remains for row in remains_document(one)["leftovers"]]
    return {
        "deleted": [line for one in done for line in _lines(one)],
        "kept": kept,
        "leftovers": [*left, *(row for one in documents for row in one.get("leftovers", ()))],
        "failed": [_failure(one) for one in done if one.error],
        "unsearched": [{"region": name, "why": one.message or one.code} for name, one in sweep.problems.items()],
    }


def reap_error(done: Sequence[Reaped], sweep: Sweep) -> ClusterctlError | None:
    """None where all that is over is gone. One code for all failures where they agree, leftovers before any other."""
    errors = [one.error for one in done if one.error]
    if errors:
        names = ", ".join(one.judgement.estate.name for one in done if one.error)
        message = f"{len(errors)} of {len(done)} could not be removed ({names}): {errors[0].message}"
        kinds = {type(one) for one in errors}
        kind = LeftoversError if LeftoversError in kinds else kinds.pop() if len(kinds) == 1 else ClusterctlError
        return _made(kind, message, errors[0])
    if sweep.problems:
        name, why = next(iter(sweep.problems.items()))
        denied = all(one.cause in (Cause.DENIED, Cause.CREDENTIALS) for one in sweep.problems.values())
        kind = AccessError if denied else ClusterctlError
        return kind(
            f"{len(sweep.problems)} region(s) could not be searched: {name}: {why.message or why.code}",
            hint="name the regions that may be used with -r",
        )
    return None


def _made(kind: type[ClusterctlError], message: str, first: ClusterctlError) -> ClusterctlError:
    """An error of the same kind; kinds that want more than words are plain ones."""
    try:
        return kind(message, hint=first.hint, details=first.details)
    except TypeError:
        return ClusterctlError(message, hint=first.hint, details=first.details)


def _lines(one: Reaped) -> Iterator[str]:
    for run in one.runs:
        for stage in run.stages:
            yield from (f"{one.judgement.estate.name}: {line}" for line in stage.actions)


def _failure(one: Reaped) -> dict[str, Any]:
    estate, error = one.judgement.estate, one.error
    words = (
        {"kind": error.kind, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}
        if error
        else {}
    )
    return {"region": estate.region, "cluster": estate.cluster, "error": words}


def _kept(done: Sequence[Reaped]) -> Iterator[dict[str, Any]]:
    for one in done:
        for remains in one.remains:
            yield from remains_document(remains)["kept"]


def _spared(judgements: Sequence[Judgement]) -> Iterator[dict[str, Any]]:
    """Clusters that stand, and reservations that somebody may still want."""
    for one in judgements:
        if one.goes:
            continue
        if one.estate.stands:
            yield {"id": one.estate.name, "why": one.why}
        for reservation in one.estate.reservations:
            if reservation.resource_id not in one.strays:
                yield {"id": reservation.resource_id, "why": f"held for {one.estate.name}, which {one.why}"}


def _strangers(sweep: Sweep) -> Iterator[dict[str, Any]]:
    for region, cluster in sweep.strangers:
        yield {"id": f"{region}/{cluster}", "why": "was not made by clusterctl"}
