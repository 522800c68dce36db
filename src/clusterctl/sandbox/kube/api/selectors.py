"""Label and field selectors, as query strings and as LabelSelector objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api.errors import bad_request
from clusterctl.sandbox.kube.api.objects import labels_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterctl.sandbox.kube.api.objects import Object

    Labels = Mapping[str, str]
    LabelTest = Callable[[Labels], bool]
    ObjectTest = Callable[[Object], bool]

_REQUIREMENTS = re.compile(r"(?:[^,(]|\([^)]*\))+")
_SET = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")
_EQUALITY = re.compile(r"([^=!\s]+)\s*(==|=|!=)\s*(\S*)")
_EXISTENCE = re.compile(r"!?\s*[^\s=!(),]+")
_FIELD = re.compile(r"([^=!]+)(==|=|!=)(.*)")


def label_test(selector: str) -> LabelTest:
    """Parse `a=b,c!=d,e in (f,g),h,!i`. Raises a 400 for anything else."""
    tests = [_requirement(part.strip()) for part in _REQUIREMENTS.findall(selector)]
    return lambda labels: all(test(labels) for test in tests)


def field_test(selector: str) -> ObjectTest:
    """Parse `metadata.name=a,spec.nodeName!=b`; any path may be asked for."""
    tests = [_field_requirement(part) for part in selector.split(",") if part]
    return lambda obj: all(test(obj) for test in tests)


def object_test(query: Mapping[str, str]) -> ObjectTest:
    """Both selectors of a list or watch."""
    by_label = label_test(query.get("labelSelector", ""))
    by_field = field_test(query.get("fieldSelector", ""))
    return lambda obj: by_label(labels_of(obj)) and by_field(obj)


def selector_matches(selector: Object | None, labels: Labels) -> bool:
    """Does a LabelSelector object match? An empty one matches all, an absent one nothing."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _expression(e, labels) for e in selector.get("matchExpressions") or []
    )


def _expression(expression: Object, labels: Labels) -> bool:
    key, values = expression["key"], expression.get("values") or []
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def _requirement(text: str) -> LabelTest:
    if found := _SET.fullmatch(text):
        key, operator, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        return _one_of(key, values, inside=operator == "in")
    if found := _EQUALITY.fullmatch(text):
        key, operator, value = found.groups()
        return _one_of(key, {value}, inside=operator != "!=")
    if not _EXISTENCE.fullmatch(text):
        raise bad_request(f"unable to parse requirement: found '{text}', expected: an identifier")
    key = text.lstrip("! ")
    return (lambda labels: key not in labels) if text.startswith("!") else (lambda labels: key in labels)


def _one_of(key: str, values: set[str], *, inside: bool) -> LabelTest:
    return lambda labels: (labels.get(key) in values) is inside


def _field_requirement(text: str) -> ObjectTest:
    found = _FIELD.fullmatch(text)
    if found is None:
        raise bad_request(f"invalid field selector: {text!r}; can't understand it")
    path, operator, value = found.groups()
    return lambda obj: (_field(obj, path) == value) is (operator != "!=")


def _field(obj: Any, path: str) -> str:
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    if obj is None:
        return ""
    return str(obj).lower() if isinstance(obj, bool) else str(obj)
