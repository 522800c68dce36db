"""What finished stages hand to later ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

T = TypeVar("T")


class Outputs:
    """An immutable bag with one value for each type."""

    def __init__(self, values: Mapping[type, object] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, kind: type[T]) -> T:
        return cast("T", self._values[kind])

    def __contains__(self, kind: type) -> bool:
        return kind in self._values

    def with_value(self, value: object) -> Outputs:
        return Outputs({**self._values, type(value): value})

    def only(self, kinds: Iterable[type]) -> Outputs:
        return Outputs({kind: self._values[kind] for kind in kinds})
