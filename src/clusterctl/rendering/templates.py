"""The templates of the top-level eksctl/ and manifests/ folders; a name that they use and nobody gives is an error."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).resolve().parent


def template_root() -> Path:
    """The folder that holds eksctl/ and manifests/: inside an installed package, or the checkout."""
    packaged = _HERE / "files"
    return packaged if packaged.is_dir() else _HERE.parents[2]


def render(template: str, **values: object) -> str:
    """Fill `template`, as in `eksctl/cluster.yaml.j2`. Raises jinja2.UndefinedError for a value that is missing."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(template_root()),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - YAML, where every scalar passes through tojson
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["tojson"] = _to_json  # Jinja's own escapes for HTML
    return environment


def _to_json(value: object) -> str:
    """JSON is YAML: strings that YAML would take for numbers, booleans or comments stay strings."""
    return json.dumps(value, ensure_ascii=False)
