"""`meta.k8s.io/v1 Table`, as kubectl asks for it to print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api.columns import COLUMNS, PLAIN, Columns, age
from clusterctl.sandbox.kube.api.jsonpath import values_at

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Resource


@dataclass(frozen=True, slots=True)
class TableMaker:
    """Makes tables of one resource; `include` is None, Metadata or Object."""

    resource: Resource
    now: datetime
    include: str = "Metadata"

    def table(self, objects: Sequence[Object], metadata: Object) -> Object:
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": self._definitions(),
            "rows": [self._row(obj) for obj in objects],
        }

    def _definitions(self) -> list[Object]:
        name = {"name": "Name", "type": "string", "format": "name", "description": "Name", "priority": 0}
        columns = self._custom_definitions() or self._builtin_definitions()
        return [name, *columns] if self._columns().named else columns

    def _builtin_definitions(self) -> list[Object]:
        return [
            {
                "name": name.lstrip("+"),
                "type": "string",
                "format": "",
                "description": name.lstrip("+"),
                "priority": int(name.startswith("+")),
            }
            for name in self._columns().names.split(",")
        ]

    def _custom_definitions(self) -> list[Object]:
        return [
            {
                "name": column["name"],
                "type": column["type"],
                "format": column.get("format", ""),
                "description": column.get("description", ""),
                "priority": column.get("priority", 0),
            }
            for column in self._printer_columns()
        ]

    def _row(self, obj: Object) -> Object:
        cells = self._cells(obj)
        row: Object = {"cells": [obj["metadata"]["name"], *cells] if self._columns().named else cells}
        if self.include == "Object":
            row["object"] = obj
        elif self.include != "None":
            row["object"] = partial(obj)
        return row

    def _cells(self, obj: Object) -> list[Any]:
        if printed := self._printer_columns():
            return [self._custom_cell(obj, column) for column in printed]
        return self._columns().cells(obj, self.now)

    def _custom_cell(self, obj: Object, column: Object) -> Any:
        found = values_at(obj, column["jsonPath"])
        if not found:
            return None
        if column["type"] == "date":
            return age(found[0], self.now)
        if len(found) == 1 and not isinstance(found[0], dict | list):
            return found[0]
        return ",".join(map(str, found))

    def _columns(self) -> Columns:
        return PLAIN if self.resource.definition is not None else COLUMNS.get(self.resource.kind, PLAIN)

    def _printer_columns(self) -> list[Object]:
        return (self.resource.definition or {}).get("additionalPrinterColumns") or []


def partial(obj: Object) -> Object:
    """Only the metadata, as informers of metadata ask for it."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
