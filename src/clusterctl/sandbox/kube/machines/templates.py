"""Pods made from the templates of workloads, and how many of them are how far."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.cluster import digest
from clusterctl.sandbox.kube.machines.kinds import is_deleting, is_finished, owner_reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.sandbox.kube.machines.kinds import Obj

REVISION_LABEL = "controller-revision-hash"


def pod_from(owner: Obj, template: Obj, name: str, labels: dict[str, str]) -> Obj:
    """A pod of a workload's template, owned by it."""
    meta = template.get("metadata") or {}
    return {
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": {**(meta.get("labels") or {}), **labels},
            "annotations": dict(meta.get("annotations") or {}),
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": copy.deepcopy(template["spec"]),
    }


class PodNames:
    """Names with a suffix that looks random and yet is the same in every run."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def next(self, owner: Obj, prefix: str) -> str:
        uid = owner["metadata"]["uid"]
        self._given[uid] += 1
        return f"{prefix}-{digest([prefix, self._given[uid]], 5)}"


def active(pods: Iterable[Obj]) -> list[Obj]:
    """Pods that still count: neither finished nor being deleted."""
    return [pod for pod in pods if not is_deleting(pod) and not is_finished(pod)]


def revision_of(template: Obj) -> str:
    return digest(template, 10)


def share(value: object, of: int, *, up: bool) -> int:
    """A count, or a percentage of `of` rounded up or down."""
    text = str(value)
    if not text.endswith("%"):
        return int(text)
    parts = int(text[:-1]) * of
    return -(-parts // 100) if up else parts // 100
