"""The table of failures says what the code does."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from clusterctl.model.failures import LAWS, Cause, classify
from clusterctl.model.launch import Patience

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "failures_table.py"))


def test_the_page_holds_the_table_that_the_script_writes(script: dict[str, Any]) -> None:
    assert script["rewritten"](PAGE) == PAGE, "run `make docs`"


def test_every_cause_there_is_has_a_row(script: dict[str, Any]) -> None:
    rows = {line.split("|")[1].strip() for line in script["table"]().splitlines()[2:]}
    assert rows == {cause.value for cause in Cause}


@pytest.mark.parametrize(("cause", "words"), [(cause, words) for cause, _, _, _, words in LAWS])
def test_every_word_of_the_table_means_what_its_row_says(cause: Cause, words: tuple[str, ...]) -> None:
    assert {word: classify(word).cause for word in words} == dict.fromkeys(words, cause)


def test_the_patience_that_the_page_tells_is_the_codes() -> None:
    patience = Patience()
    assert (patience.failed_activities, patience.after_first_failure_s) == (3, 90)
    assert "after three failed launches, or ninety seconds after the first" in PAGE
