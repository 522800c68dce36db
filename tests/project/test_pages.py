"""What the pages name exists, and what exists is named in a page."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel

from clusterctl import errors
from clusterctl.cli.main import app
from clusterctl.sandbox.scenario import PLACES, Block, Fault, Free, Reserved, Scenario, parse_scenario
from clusterctl.wiring.bench import DEPLOY

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
README = TEXTS["README.md"]
SANDBOX = TEXTS["docs/sandbox.md"]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its full name, groups as well."""
    for name, command in getattr(group, "commands", {}).items():
        yield f"{prefix}{name}", command
        yield from commands(command, f"{prefix}{name} ")


def options(command: Any) -> set[str]:
    """The options of a command, those that switch something off as well."""
    given = command.get_params(typer.Context(command))
    return {option for one in given for option in (*one.opts, *one.secondary_opts)}


COMMANDS = dict(commands(typer.main.get_command(app)))


def code(text: str) -> Iterator[str]:
    """What is written as code, inline or in blocks of console lines."""
    blocks = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
    yield from (line for kind, block in blocks.findall(text) if kind == "console" for line in block.splitlines())
    yield from re.findall(r"`([^`\n]+)`", blocks.sub("", text))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_there_are_pages_to_look_at() -> None:
    assert {"README.md", "CHANGELOG.md", "docs/architecture.md", "docs/stages.md", "docs/sandbox.md"} <= set(TEXTS)


@pytest.mark.parametrize("page", TEXTS)
def test_no_link_of_a_page_is_dead(page: str) -> None:
    dead = []
    for target in LINK.findall(TEXTS[page]):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(target)
    assert not dead


def test_every_command_is_named_in_a_page() -> None:
    written = "\n".join(TEXTS.values())
    assert [name for name in COMMANDS if not re.search(rf"`(?:clusterctl )?{name}\b", written)] == []


@pytest.mark.parametrize("page", TEXTS)
def test_commands_that_a_page_shows_exist(page: str) -> None:
    shown = [match for one in code(TEXTS[page]) for match in re.findall(r"\bclusterctl ([a-z][\w-]*(?: [a-z]+)?)", one)]
    unknown = [one for one in shown if one not in COMMANDS and one.split()[0] not in COMMANDS]
    unknown += [one for one in shown if one.startswith("sandbox ") and one not in COMMANDS]
    assert not unknown


@pytest.mark.parametrize("page", TEXTS)
def test_options_that_a_page_shows_exist(page: str) -> None:
    known = {option for one in COMMANDS.values() for option in options(one)}
    known |= {option for one in (ROOT / "scripts" / "train").iterdir() if one.is_file()
              for option in OPTION.findall(one.read_text(encoding="utf-8"))}  # fmt: skip
    shown = {word for one in code(TEXTS[page]) for word in OPTION.findall(one)}
    assert shown - known == set()


def test_every_stage_has_a_section_and_a_row_in_the_readme() -> None:
    sections = set(re.findall(r"^## (\S+)$", TEXTS["docs/stages.md"], re.MULTILINE))
    assert set(DEPLOY) <= sections
    assert [name for name in DEPLOY if f"| `{name}` |" not in README] == []


def test_the_readme_tells_every_exit_code_there_is() -> None:
    codes = {one.exit_code for one in vars(errors).values() if isinstance(one, type) and hasattr(one, "exit_code")}
    told = re.search(r"^## Exit codes\n\n(.+?)\n\n", README, re.MULTILINE | re.DOTALL)
    assert told is not None
    assert {int(number) for number in re.findall(r"(?:^|· *\n?)(\d+) ", told[1])} <= codes | {0}
    without_training = codes - {errors.JobFailedError.exit_code, errors.FabricError.exit_code}
    assert without_training <= {int(number) for number in re.findall(r"\b(\d+)\b", told[1])}


@pytest.mark.parametrize("part", [Scenario, Fault, Reserved, Block, Free])
def test_every_key_of_a_scenario_is_explained(part: type[BaseModel]) -> None:
    assert [key for key in part.model_fields if not re.search(rf"\b{key}\b", SANDBOX)] == []


def test_every_service_and_outcome_of_a_fault_is_explained() -> None:
    outcomes = Fault.model_json_schema()["properties"]["outcome"]["anyOf"][0]["enum"]
    assert [word for word in (*PLACES, *outcomes) if word not in SANDBOX] == []


def test_the_scenario_that_is_shown_can_be_read() -> None:
    shown = re.findall(r"```yaml\n(.*?)```", SANDBOX, re.DOTALL)
    scenarios = [parse_scenario(text, "docs/sandbox.md") for text in shown]
    assert [one.speed for one in scenarios] == [600.0]
    assert scenarios[0].faults[0].on == "ec2:CreateCapacityReservation"


def test_the_files_that_architecture_names_exist() -> None:
    named = {one for one in code(TEXTS["docs/architecture.md"]) if re.fullmatch(r"[\w/]+(?:\.py|/)", one)}
    places = (ROOT, ROOT / "src" / "clusterctl", ROOT / "src" / "clusterctl" / "adapters")
    assert len(named) > 10
    assert [one for one in named if not any((place / one).exists() for place in places)] == []


def test_the_tables_of_settings_and_variables_name_what_the_code_reads() -> None:
    variables = set(re.findall(r"^\| `([A-Z_]+)` \| [^|]+ \|$", TEXTS["docs/settings.md"], re.MULTILINE))
    source = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    assert len(variables) > 5
    assert [name for name in variables if f'"{name}"' not in source] == []


# --- the Makefile


def makefile_targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z]+):", text, re.MULTILINE))


def test_targets_that_pages_name_exist() -> None:
    named = {word for text in TEXTS.values() for one in code(text) for word in re.findall(r"\bmake ([a-z]+)", one)}
    assert {"demo", "test", "check"} <= named
    assert named <= makefile_targets()


def test_every_target_is_phony_and_explained_by_help() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)[1].split())  # type: ignore[index]
    assert phony == makefile_targets()
    told = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    assert {name for name in phony - {"help", "install"} if f"make {name}" not in told.stdout} == set()


def test_scripts_that_the_makefile_runs_exist() -> None:
    named = re.findall(r"\b((?:scripts|docs)/\w+\.\w+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert named
    assert [one for one in named if not (ROOT / one).is_file()] == []
