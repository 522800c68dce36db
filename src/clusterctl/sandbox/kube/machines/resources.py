"""What pods ask for and nodes have: quantities and their sums."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.sandbox.kube.machines.kinds import Obj

Amounts = dict[str, Decimal]
_SUFFIXES = {
    "m": Decimal("0.001"), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
}  # fmt: skip


def quantity(value: object) -> Decimal:
    """A Kubernetes quantity as a number: cores, bytes or a count. Raises ValueError."""
    text = str(value)
    for suffix in (text[-2:], text[-1:]):
        if suffix in _SUFFIXES:
            return _number(text.removesuffix(suffix)) * _SUFFIXES[suffix]
    return _number(text)


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError as problem:
        raise ValueError(f"not a quantity: {text!r}") from problem


def container_requests(container: Obj) -> Amounts:
    """A container's requests; a limit without a request is a request, as the API server defaults it."""
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: quantity(value) for name, value in asked.items()}


def pod_requests(pod: Obj) -> Amounts:
    """What a pod takes from a node: the containers' sum, or the largest init step where that is more."""
    spec = pod["spec"]
    total = _sum(container_requests(one) for one in spec.get("containers") or [])
    sidecars: Amounts = {}
    largest: Amounts = {}
    for init in spec.get("initContainers") or []:
        asked = container_requests(init)
        if init.get("restartPolicy") == "Always":
            sidecars = _sum([sidecars, asked])
            asked = sidecars
        else:
            asked = _sum([sidecars, asked])
        largest = _largest(largest, asked)
    total = _largest(_sum([total, sidecars]), largest)
    return _sum([total, _amounts(spec.get("overhead") or {}), {"pods": Decimal(1)}])


def allocatable(node: Obj) -> Amounts:
    return _amounts((node.get("status") or {}).get("allocatable") or {})


def used(pods: Iterable[Obj]) -> Amounts:
    return _sum(pod_requests(pod) for pod in pods)


def shortages(asked: Mapping[str, Decimal], free: Mapping[str, Decimal]) -> list[str]:
    """The scheduler's reasons for resources that do not fit; zero requests always do."""
    missing = [name for name, amount in asked.items() if amount > 0 and amount > free.get(name, Decimal(0))]
    return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in missing]


def subtract(have: Mapping[str, Decimal], taken: Mapping[str, Decimal]) -> Amounts:
    return {name: amount - taken.get(name, Decimal(0)) for name, amount in have.items()}


def _amounts(values: Mapping[str, object]) -> Amounts:
    return {name: quantity(value) for name, value in values.items()}


def _sum(parts: Iterable[Mapping[str, Decimal]]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, Decimal(0)) + amount
    return total


def _largest(one: Mapping[str, Decimal], other: Mapping[str, Decimal]) -> Amounts:
    zero = Decimal(0)
    return {name: max(one.get(name, zero), other.get(name, zero)) for name in {**one, **other}}
