"""The page of lint rules shows the rules that there are. Nothing is faked."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_table_of_rules_is_the_one_of_the_model() -> None:
    rewritten = runpy.run_path(str(ROOT / "scripts" / "lint_table.py"))["rewritten"]
    page = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    assert rewritten(page) == page, "run `make docs`"
