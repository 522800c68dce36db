"""The table of settings says what the model says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import typer

from clusterctl.cli.main import app
from clusterctl.model.settings import KEYS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "settings_table.py"))


def test_the_page_holds_the_table_that_the_script_writes(script: dict[str, Any]) -> None:
    assert script["rewritten"](PAGE) == PAGE, "run `make docs`"


def test_every_setting_has_a_row_of_its_own(script: dict[str, Any]) -> None:
    rows = [line.split("|")[1].strip(" `") for line in script["table"]().splitlines()[2:]]
    assert tuple(rows) == KEYS


def test_options_named_in_the_table_exist(script: dict[str, Any]) -> None:
    deploy_all = typer.main.get_command(app).commands["deploy-all"]  # type: ignore[attr-defined]
    known = {option for one in deploy_all.get_params(typer.Context(deploy_all)) for option in one.opts}
    named = {option for option, _ in script["MEANINGS"].values() if option}
    assert named <= known
