"""Where settings come from: flags, environment, placement file, project file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterctl.errors import UsageError
from clusterctl.model.placement import Placement
from clusterctl.model.settings import KEYS, Layer, Origin

PROJECT_FILE = "clusterctl.toml"


def flag_layer(values: Mapping[str, Any]) -> Layer:
    given = {key: value for key, value in values.items() if value not in (None, (), "")}
    return Layer(Origin.FLAG, "the command line", given)


def environment_layer(environment: Mapping[str, str]) -> Layer:
    return Layer(Origin.ENVIRONMENT, "the environment", {key: environment[key] for key in KEYS if key in environment})


def placement_layer(placement: Placement | None, path: Path) -> Layer:
    if placement is None:
        return Layer(Origin.PLACEMENT, str(path), {})
    values = {
        "CLUSTER_NAME": placement.cluster_name,
        "REGION": placement.region,
        "GPU_NODE_TYPE": placement.gpu_node_type,
        "GPU_NODE_COUNT": placement.gpu_node_count or None,
        "GPU_NODEGROUP_NAME": placement.gpu_nodegroup_name,
        "CAPACITY_RESERVATION_ID": placement.capacity_reservation_id,
    }
    return Layer(Origin.PLACEMENT, str(path), values)


def project_layer(folder: Path) -> Layer:
    """`clusterctl.toml`, optional. Raises UsageError for one that is no TOML."""
    path = folder / PROJECT_FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        data = {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise UsageError(f"cannot read {path}: {problem}", hint="write it like: gpu_node_count = 4") from problem
    return Layer(Origin.PROJECT, PROJECT_FILE, {key.upper(): value for key, value in data.items()})
