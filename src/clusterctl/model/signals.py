"""What objects of the API prove: definitions that are served, webhooks that can be called, resources that are ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterctl.model.kube import Proof, Signal

Json = Mapping[str, Any]


def unproved(signal: Signal, found: Json | None) -> str:
    """What is still missing for a signal, in words; empty when the object proves it."""
    if found is None:
        return f"{signal} is not there yet"
    if found["metadata"].get("deletionTimestamp"):
        return f"{signal} is being deleted"
    missing = _PROOFS[signal.proof](found)
    return f"{signal} {missing}" if missing else ""


def outdated(name: str, version: str, definition: Json) -> str:
    """Why a definition of the cluster cannot serve us; empty if it has our version."""
    served = [one["name"] for one in definition["spec"].get("versions") or () if one.get("served", True)]
    return "" if version in served else f"the cluster's {name} serves {', '.join(served) or 'nothing'}, not {version}"


def condition(found: Json, kind: str) -> Json:
    """A condition of an object; empty while there is none."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), {})


def _established(found: Json) -> str:
    names = condition(found, "NamesAccepted")
    if names.get("status") == "False":
        return f"is refused: {names.get('message', 'its names are taken')}"
    return "" if condition(found, "Established").get("status") == "True" else "is not served yet"


def _callable(found: Json) -> str:
    waiting = [one["name"] for one in found.get("webhooks") or () if not one["clientConfig"].get("caBundle")]
    return f"has no certificate authority for {waiting[0]}" if waiting else ""


def _ready(found: Json) -> str:
    ready = condition(found, "Ready")
    if ready.get("status") == "True":
        return ""
    said = ready.get("message") or ready.get("reason")
    return f"is not ready: {said}" if said else "is not ready"


def _replicas(found: Json) -> str:
    wanted = (found.get("spec") or {}).get("replicas", 1)
    ready = (found.get("status") or {}).get("readyReplicas", 0)
    return "" if ready >= wanted else f"has {ready} of {wanted} replicas ready"


_PROOFS: dict[Proof, Callable[[Json], str]] = {
    Proof.ESTABLISHED: _established,
    Proof.CALLABLE: _callable,
    Proof.READY: _ready,
    Proof.REPLICAS: _replicas,
}
