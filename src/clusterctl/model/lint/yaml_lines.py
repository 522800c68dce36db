"""YAML read into plain values that know the lines they stand on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_NODES = 200_000  # aliases can make a small file endless


class YamlError(ValueError):
    """Text that is not YAML; `line` says where."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Map(dict[str, Any]):
    """A mapping; `lines` holds the line of each key."""

    line: int
    lines: dict[str, int]

    def at(self, *path: str) -> Any:
        """The value behind a path of keys, or None."""
        value: Any = self
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def map(self, *path: str) -> Map:
        """The mapping behind a path of keys; an empty one that stands here when there is none."""
        value = self.at(*path)
        return value if isinstance(value, Map) else empty_map(self.line)

    def maps(self, *path: str) -> list[Map]:
        """The mappings of the list behind a path of keys."""
        value = self.at(*path)
        return [one for one in value if isinstance(one, Map)] if isinstance(value, list) else []

    def texts(self, key: str) -> list[str]:
        """The items of a list as text; nothing where there is no list."""
        value = self.get(key)
        return [str(one) for one in value] if isinstance(value, list) else []

    def line_of(self, key: str) -> int:
        return self.lines.get(key, self.line)


class Text(str):
    """A string; `line` is that of its first character, also in a block."""

    __slots__ = ("line",)
    line: int


def empty_map(line: int) -> Map:
    made = Map()
    made.line, made.lines = line, {}
    return made


def read_yaml(text: str) -> list[Any]:
    """All documents of a file. Raises YamlError."""
    import yaml

    try:
        return [_value(node, _Budget()) for node in yaml.compose_all(text, Loader=yaml.SafeLoader) if node is not None]
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise YamlError(problem.problem or "not YAML", mark.line + 1 if mark else 1) from None
    except (yaml.YAMLError, RecursionError) as problem:
        raise YamlError(str(problem).splitlines()[0], 1) from None


class _Budget:
    def __init__(self) -> None:
        self.left = MOST_NODES

    def take(self, node: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise YamlError(
                "it has too many nodes, aliases counted as often as they are used", node.start_mark.line + 1
            )


def _value(node: Any, budget: _Budget) -> Any:
    import yaml

    budget.take(node)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, budget)
    if isinstance(node, yaml.SequenceNode):
        return [_value(one, budget) for one in node.value]
    return _scalar(node)


def _mapping(node: Any, budget: _Budget) -> Map:
    made = empty_map(node.start_mark.line + 1)
    for key, value in node.value:
        if key.tag == "tag:yaml.org,2002:merge":
            _merge(made, _value(value, budget))
            continue
        name = str(key.value)
        made[name] = _value(value, budget)
        made.lines[name] = key.start_mark.line + 1
    return made


def _merge(made: Map, source: Any) -> None:
    for one in source if isinstance(source, list) else [source]:
        for name, value in one.items() if isinstance(one, Map) else ():
            made.setdefault(name, value)
            made.lines.setdefault(name, one.lines[name])


def _scalar(node: Any) -> Any:
    import yaml

    known = {"int", "float", "bool", "null"}
    if node.tag.rpartition(":")[2] in known:
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (ValueError, yaml.YAMLError):
            return _text(node)
    return _text(node)


def _text(node: Any) -> Text:
    made = Text(node.value)
    made.line = node.start_mark.line + (2 if node.style in ("|", ">") else 1)
    return made


def walk(value: Any) -> Iterator[Map]:
    """Every mapping in a value, the value itself first."""
    if isinstance(value, Map):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from walk(one)
