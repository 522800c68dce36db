"""How eksctl reads a config file: strict but blind to case at first, then with case and silent loss."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import yaml

from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.shape import (
    ANY,
    BOOLEAN,
    CLUSTER_CONFIG,
    INTEGER,
    MAPPING,
    STRING,
    STRINGS,
    Shape,
)

SCHEMA_FILE = "eksctl.io-v1alpha5.json"
_PYTHON_TYPES: dict[str, type] = {STRING: str, INTEGER: int, BOOLEAN: bool, STRINGS: list, MAPPING: dict}


def read_config(source: str) -> dict[str, Any]:
    """Read `-` or a file; what eksctl keeps of it. Raises EksctlError."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text()
    except OSError as problem:
        text = f"open {source}: {(problem.strerror or '').lower()}"
        raise EksctlError(
            f'couldn\'t create ClusterConfig from file "{source}": reading config file "{source}": {text}'
        ) from problem
    try:
        return parse_config(text)
    except EksctlError as problem:
        raise EksctlError(f'loading config file "{source}": {problem}') from problem


def parse_config(text: str) -> dict[str, Any]:
    """What eksctl keeps of a config: keys in the wrong case are accepted, and lost."""
    try:
        data = yaml.load(text, Loader=_TextLoader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as problem:
        raise EksctlError(f"error converting YAML to JSON: yaml: {problem}") from problem
    if not isinstance(data, dict):
        raise _bad_json("cannot unmarshal into Go value of type v1alpha5.ClusterConfig")
    _check_identity(data)
    _check_strictly(data, CLUSTER_CONFIG, "ClusterConfig")
    kept = _decode(data, CLUSTER_CONFIG)
    _check_schema(kept)
    return kept


class _TextLoader(yaml.SafeLoader):
    """SafeLoader that leaves dates alone, as Go's YAML does."""


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _check_identity(data: dict[str, Any]) -> None:
    version, kind = data.get("apiVersion"), data.get("kind")
    if version != "eksctl.io/v1alpha5" or kind != "ClusterConfig":
        text = f'no kind "{kind or ""}" is registered for version "{version or ""}"'
        raise EksctlError(f'{text} in scheme "k8s.io/client-go/kubernetes/scheme/register.go:72"')


def _check_strictly(data: dict[str, Any], shape: Shape, path: str) -> None:
    known = {key.lower(): (key, kind) for key, kind in shape.items()}
    for key, value in data.items():
        name, kind = ("*", shape["*"]) if "*" in shape else known.get(str(key).lower(), ("", None))
        if kind is None:
            raise _bad_json(f'unknown field "{key}"')
        if value is not None:
            _check_value(value, kind, f"{path}.{name if name != '*' else key}")


def _check_value(value: Any, kind: Any, path: str) -> None:
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            raise _wrong_type(value, "object", path)
        _check_strictly(value, kind, path)
    elif isinstance(kind, list):
        if not isinstance(value, list):
            raise _wrong_type(value, "array", path)
        for item in value:
            _check_value(item, kind[0], path)
    elif kind != ANY:
        _check_leaf(value, kind, path)


def _check_leaf(value: Any, kind: str, path: str) -> None:
    wanted = _PYTHON_TYPES[kind]
    right = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    items = value if kind == STRINGS and right else list(value.values()) if kind == MAPPING and right else []
    if not right:
        raise _wrong_type(value, kind, path)
    for item in items:
        if not isinstance(item, str):
            raise _wrong_type(item, STRING, path)


def _wrong_type(value: Any, kind: str, path: str) -> EksctlError:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return _bad_json(f"cannot unmarshal {names.get(type(value), 'value')} into Go struct field {path} of type {kind}")


def _bad_json(text: str) -> EksctlError:
    return EksctlError(f"error unmarshaling JSON: while decoding JSON: json: {text}")


def _decode(data: dict[str, Any], shape: Shape) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in data.items():
        kind = shape.get("*", shape.get(key))
        if kind is None or value is None:
            continue
        if isinstance(kind, dict):
            kept[key] = _decode(value, kind)
        elif isinstance(kind, list):
            kept[key] = [_decode(item, kind[0]) for item in value]
        else:
            kept[key] = value
    return kept


def _check_schema(kept: dict[str, Any]) -> None:
    """Hold it to eksctl's own schema where a copy of that is at hand."""
    folder = os.environ.get("CLUSTERCTL_SCHEMAS", "")
    path = Path(folder) / SCHEMA_FILE
    if not folder or not path.is_file():
        return
    import jsonschema

    validator = jsonschema.Draft7Validator(json.loads(path.read_text()))
    for problem in validator.iter_errors(kept):
        where = ".".join(str(part) for part in problem.absolute_path)
        raise EksctlError(f"{where}: {problem.message}")
