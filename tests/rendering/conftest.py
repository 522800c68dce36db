"""eksctl's own JSON schema, from CLUSTERCTL_SCHEMAS or beside the checkout; in CI its absence is a failure."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

NAME = "eksctl.io-v1alpha5.json"
BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "schemas"

Accepted = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="session")
def schema() -> dict[str, Any]:
    folder = Path(os.environ.get("CLUSTERCTL_SCHEMAS") or BESIDE)
    if not (folder / NAME).is_file():
        if os.environ.get("CI"):
            pytest.fail(f"{NAME} is not in {folder}; set CLUSTERCTL_SCHEMAS")
        pytest.skip(f"{NAME} is not here; set CLUSTERCTL_SCHEMAS to the folder that holds it")
    found: dict[str, Any] = json.loads((folder / NAME).read_text())
    return found


@pytest.fixture
def accepted(schema: dict[str, Any]) -> Accepted:
    """Parses a config after holding it to the schema."""

    def parse(text: str) -> dict[str, Any]:
        parsed: dict[str, Any] = yaml.safe_load(text)
        jsonschema.validate(parsed, schema)
        return parsed

    return parse
