"""The reference says what the program has; every command shows how it is used, and shells can complete it."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clusterctl import errors

ROOT = Path(__file__).resolve().parents[2]
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "reference.py"))
COMMANDS: dict[str, Any] = dict(SCRIPT["commands"](SCRIPT["typer"].main.get_command(SCRIPT["app"])))


def test_the_page_is_what_the_script_writes() -> None:
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == SCRIPT["page"](), "run `make docs`"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example_of_itself(name: str) -> None:
    said = COMMANDS[name].get_help(SCRIPT["typer"].Context(COMMANDS[name]))
    assert f"Example: clusterctl {name}" in " ".join(said.split())


def test_the_reference_has_every_exit_code() -> None:
    codes = {one.exit_code for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "exit_code")}
    table = SCRIPT["exit_codes"]()
    assert [code for code in codes | {0} if f"\n| {code} |" not in table] == []


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("clusterctl doc", "doctor"),
        ("clusterctl deploy-all --max", "--max-hourly-usd"),
        ("clusterctl sandbox fau", "fault"),
        ("clusterctl teardown --pur", "--purge-volumes"),
    ],
)
def test_a_shell_can_complete_commands_and_options(typed: str, completed: str) -> None:
    asked = {"_CLUSTERCTL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "clusterctl"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **asked},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert completed in done.stdout.split()
