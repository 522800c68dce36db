"""Quantities of Kubernetes resources as whole numbers: thousandths of a core, MiB, or a count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation

Amounts = dict[str, int]

CPU = "cpu"  # in thousandths of a core
MEMORY = "memory"  # in MiB, as all that starts with hugepages-
HUGE_PAGES = "hugepages-2Mi"
_MIB = 2**20
_SUFFIXES = {
    "m": Decimal("0.001"), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9), "T": Decimal(10**12),
    "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
}  # fmt: skip


def plain(value: object) -> Decimal:
    """`250m` as 0.25, `16Gi` in bytes. Raises ValueError."""
    text = str(value).strip()
    suffix = next((one for one in (text[-2:], text[-1:]) if one in _SUFFIXES), "")
    try:
        return Decimal(text.removesuffix(suffix)) * _SUFFIXES.get(suffix, Decimal(1))
    except InvalidOperation as problem:
        raise ValueError(f"{text!r} is not a quantity") from problem


def requests(resources: Mapping[str, object]) -> Amounts:
    """What is asked for, rounded up to our units."""
    return {name: int(_scaled(name, value).to_integral_value(ROUND_CEILING)) for name, value in resources.items()}


def offers(resources: Mapping[str, object]) -> Amounts:
    """What is there, rounded down to our units."""
    return {name: int(_scaled(name, value).to_integral_value(ROUND_FLOOR)) for name, value in resources.items()}


def total(parts: Iterable[Mapping[str, int]]) -> Amounts:
    summed: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            summed[name] = summed.get(name, 0) + amount
    return summed


def _scaled(name: str, value: object) -> Decimal:
    if name == CPU:
        return plain(value) * 1000
    return plain(value) / _MIB if name == MEMORY or name.startswith("hugepages-") else plain(value)
