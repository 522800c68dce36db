"""Structural schemas of custom resources: prune, default, validate, and name unknown fields.

Not evaluated: CEL rules (x-kubernetes-validations) and formats.
"""

from __future__ import annotations

import copy
import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api.errors import Cause, required, wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.sandbox.kube.api.objects import Object

_ROOT_FIELDS = frozenset(["apiVersion", "kind", "metadata"])
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}


def settle(obj: Object, schema: Object) -> Object:
    """The object with unknown fields pruned and defaults filled in; metadata is left alone."""
    root = {name: value for name, value in obj.items() if name in _ROOT_FIELDS}
    body = {name: value for name, value in obj.items() if name not in _ROOT_FIELDS}
    return {**root, **_settle(body, {**schema, "type": "object"})}


def violations(obj: Object, schema: Object) -> list[Cause]:
    """What is wrong with the object, field by field."""
    body = {name: value for name, value in obj.items() if name not in _ROOT_FIELDS}
    demanded = [name for name in schema.get("required") or [] if name not in _ROOT_FIELDS]
    return list(_violations(body, {**schema, "type": "object", "required": demanded}, ""))


def unknown_fields(obj: Object, schema: Object) -> list[str]:
    """Paths that the schema does not know, for fieldValidation=Strict."""
    body = {name: value for name, value in obj.items() if name not in _ROOT_FIELDS}
    return list(_unknown(body, {**schema, "type": "object"}, ""))


def _settle(value: Any, schema: Object) -> Any:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [_settle(item, items) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties") or {}
    kept = {
        name: inner
        for name, inner in value.items()
        if (name in properties or _admits(schema, name)) and not _is_pruned_null(inner, properties.get(name))
    }
    missing = {
        name: copy.deepcopy(known["default"])
        for name, known in properties.items()
        if "default" in known and name not in kept
    }
    return {name: _settle(inner, _below(schema, name)) for name, inner in {**kept, **missing}.items()}


def _is_pruned_null(value: Any, known: Object | None) -> bool:
    """A null where none is allowed is dropped before defaults are filled in."""
    return value is None and known is not None and not known.get("nullable")


def _admits(schema: Object, name: str) -> bool:
    """Whether a field without an entry in `properties` may stay."""
    if schema.get("x-kubernetes-embedded-resource") and name in _ROOT_FIELDS:
        return True
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string"):
        return True
    return bool(schema.get("additionalProperties")) or schema.get("type") != "object"


def _below(schema: Object, name: str) -> Object:
    found = (schema.get("properties") or {}).get(name)
    if found is None and isinstance(schema.get("additionalProperties"), dict):
        found = schema["additionalProperties"]
    if found is None and schema.get("x-kubernetes-preserve-unknown-fields"):
        return {"x-kubernetes-preserve-unknown-fields": True}
    return found or {}


def _unknown(value: Any, schema: Object, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.get("items") or {}, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            here = f"{path}.{name}" if path else name
            if name in (schema.get("properties") or {}) or _admits(schema, name):
                yield from _unknown(inner, _below(schema, name), here)
            else:
                yield here


def _violations(value: Any, schema: Object, path: str) -> Iterator[Cause]:
    if value is None and schema.get("nullable"):
        return
    if (problem := _type_problem(value, schema, path)) is not None:
        yield problem
        return
    yield from _value_problems(value, schema, path)
    yield from _combination_problems(value, schema, path)
    if isinstance(value, dict):
        yield from _map_problems(value, schema, path)
    elif isinstance(value, list):
        yield from _list_problems(value, schema, path)


def _map_problems(value: Object, schema: Object, path: str) -> Iterator[Cause]:
    for name in schema.get("required") or []:
        if name not in value:
            yield required(f"{path}.{name}" if path else name)
    for name, inner in value.items():
        yield from _violations(inner, _below(schema, name), f"{path}.{name}" if path else name)


def _list_problems(value: list[Any], schema: Object, path: str) -> Iterator[Cause]:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        yield wrong(path, str(len(value)), f"{path} in body should have at least {least} items")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooMany", path, f"Too many: {len(value)}: must have at most {most} items")
    for index, item in enumerate(value):
        yield from _violations(item, schema.get("items") or {}, f"{path}[{index}]")


def _type_problem(value: Any, schema: Object, path: str) -> Cause | None:
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, int | str) and not isinstance(value, bool)
        wanted = "integer or string"
    elif (wanted := schema.get("type", "")) in _TYPES:
        is_flag = isinstance(value, bool) and wanted != "boolean"
        whole = wanted == "integer" and isinstance(value, float) and value.is_integer()
        fits = whole or (isinstance(value, _TYPES[wanted]) and not is_flag)
    else:
        return None
    if fits:
        return None
    shown = json.dumps(_type_name(value))
    where = f"{path} in body" if path else "body"
    why = f"Invalid value: {shown}: {where} must be of type {wanted}: {shown}"
    return Cause("FieldValueTypeInvalid", path, why)


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array"}
    return names[type(value)]


def _value_problems(value: Any, schema: Object, path: str) -> Iterator[Cause]:
    shown = json.dumps(value)
    if (allowed := schema.get("enum")) is not None and value not in allowed:
        listed = ", ".join(json.dumps(one) for one in allowed)
        why = f"Unsupported value: {shown}: supported values: {listed}"
        yield Cause("FieldValueNotSupported", path, why)
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from _bound_problems(value, schema, path)
    elif isinstance(value, str):
        yield from _text_problems(value, schema, path)


def _bound_problems(value: float, schema: Object, path: str) -> Iterator[Cause]:
    least, most = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if least is not None and (value < least or (above and value == least)):
        relation = "greater than" if above else "greater than or equal to"
        yield wrong(path, str(value), f"{path} in body should be {relation} {least}")
    if most is not None and (value > most or (below and value == most)):
        relation = "less than" if below else "less than or equal to"
        yield wrong(path, str(value), f"{path} in body should be {relation} {most}")


def _text_problems(value: str, schema: Object, path: str) -> Iterator[Cause]:
    shown = json.dumps(value)
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least is not None and len(value) < least:
        yield wrong(path, shown, f"{path} in body should be at least {least} chars long")
    if most is not None and len(value) > most:
        yield Cause("FieldValueTooLong", path, f"Too long: may not be more than {most} bytes")
    if (pattern := schema.get("pattern")) and not _compiled(pattern).search(value):
        yield wrong(path, shown, f"{path} in body should match '{pattern}'")


def _combination_problems(value: Any, schema: Object, path: str) -> Iterator[Cause]:
    for part in schema.get("allOf") or []:
        yield from _violations(value, part, path)
    shown = json.dumps(_type_name(value))
    if (parts := schema.get("anyOf")) and not any(_fits(value, part) for part in parts):
        yield wrong(path, shown, f"{path} in body must validate at least one schema (anyOf)")
    if (parts := schema.get("oneOf")) and sum(_fits(value, part) for part in parts) != 1:
        yield wrong(path, shown, f"{path} in body must validate one and only one schema (oneOf)")
    if "not" in schema and _fits(value, schema["not"]):
        yield wrong(path, shown, f"{path} in body must not validate the schema (not)")


def _fits(value: Any, schema: Object) -> bool:
    return next(_violations(value, schema, ""), None) is None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Go's regular expressions are Python's but for a few escapes."""
    return re.compile(pattern.replace(r"\z", r"\Z"))
