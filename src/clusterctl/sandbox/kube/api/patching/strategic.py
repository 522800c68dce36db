"""Strategic merge patch: what kubectl sends for built-in kinds, with its $-directives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api.patching.ordering import patched_order

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.patching.structure import ListRule, Structure

_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def strategic_merge(current: Any, patch: Object, structure: Structure) -> Object:
    """The map after the patch; neither argument is changed."""
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    merged = dict(current) if isinstance(current, dict) else {}
    if (kept := patch.get("$retainKeys")) is not None:
        merged = {name: value for name, value in merged.items() if name in kept}
    _delete_values(merged, patch)
    for name, value in patch.items():
        if not name.startswith("$"):
            _merge_field(merged, name, value, patch, structure.child(name))
    _reorder_untouched(merged, patch, structure)
    return merged


def _merge_field(merged: Object, name: str, value: Any, patch: Object, structure: Structure) -> None:
    if value is None:
        merged.pop(name, None)
    elif isinstance(value, dict):
        merged[name] = strategic_merge(merged.get(name), value, structure)
    elif isinstance(value, list):
        merged[name] = _merge_list(merged.get(name) or [], value, structure, patch.get(_ORDER + name))
    else:
        merged[name] = value


def _delete_values(merged: Object, patch: Object) -> None:
    for directive, values in patch.items():
        if directive.startswith(_DELETE):
            name = directive.removeprefix(_DELETE)
            merged[name] = [value for value in merged.get(name) or [] if value not in values]


def _reorder_untouched(merged: Object, patch: Object, structure: Structure) -> None:
    for directive, order in patch.items():
        name = directive.removeprefix(_ORDER)
        if name != directive and name not in patch and isinstance(merged.get(name), list):
            merged[name] = _merge_list(merged[name], [], structure.child(name), order)


def _merge_list(current: list[Any], patch: list[Any], structure: Structure, order: list[Any] | None) -> list[Any]:
    rule = structure.list_rule
    if rule.kind == "atomic" or not rule.associates(current, [p for p in patch if not _is_directive(p)]):
        return _without_directives(patch)
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return _without_directives(patch)
    merged = {_identity(item, rule): item for item in current}
    touched = [_merge_item(merged, item, rule, structure.item) for item in patch]
    wanted = [_identity(item, rule) for item in order] if order is not None else touched
    ordered = [key for key in dict.fromkeys(wanted) if key in merged]
    unlisted = [key for key in merged if key not in set(ordered)]
    live = [_identity(item, rule) for item in current]
    known = set(live)
    behind = [key for key in unlisted if key not in known]
    places = patched_order(live, ordered, [key for key in unlisted if key in known])
    return [merged[key] for key in [*places, *behind]]


def _merge_item(merged: dict[Any, Any], item: Any, rule: ListRule, structure: Structure) -> Any:
    key = _identity(item, rule)
    if not isinstance(item, dict):
        merged[key] = item
    elif item.get("$patch") == "delete":
        merged.pop(key, None)
    else:
        merged[key] = strategic_merge(merged.get(key), item, structure)
    return key


def _identity(item: Any, rule: ListRule) -> Any:
    """Strategic merge patch knows an item by one key alone."""
    return item.get(rule.keys[0]) if isinstance(item, dict) and rule.keys else item


def _is_directive(item: Any) -> bool:
    return isinstance(item, dict) and "$patch" in item


def _without_directives(items: list[Any]) -> list[Any]:
    return [item for item in items if not _is_directive(item)]
