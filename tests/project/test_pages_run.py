"""What the pages tell to type is typed: each page's commands, in order, in a fresh home and sandbox.

A line ends with exit code 0, or with the one that its comment names (`# exit code 2`). A YAML block under
`<!-- file: NAME -->` is a file that the commands find, and `<!-- before: COMMAND -->` is what a page takes for granted.
The lines of kubectl and other programs are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from cli_sandbox import CommandLine, command_line

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
}
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^<!-- file: ([\w.-]+) -->\n```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
BEFORE = re.compile(r"^<!-- before: (.+) -->$", re.MULTILINE)
PROGRAM = re.compile(r"\$ (?:clusterctl|eks-clusterctl|export) ")


def typed(page: str) -> list[str]:
    """The lines of a page that are commands of ours, without the prompt."""
    lines = [line for block in BLOCK.findall(page) for line in block.splitlines()]
    return [*BEFORE.findall(page), *(line.removeprefix("$ ") for line in lines if PROGRAM.match(line))]


RUNNABLE = {name: typed(page) for name, page in PAGES.items() if typed(page)}


def test_the_tutorial_and_the_how_to_pages_have_commands_to_run() -> None:
    guides = {"first-cluster", "own-reservation", "capacity-block", "failed-node-group"}
    assert {f"docs/how-to/{name}.md" for name in guides} <= set(RUNNABLE)
    assert "README.md" in RUNNABLE


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", RUNNABLE)
def test_the_commands_of_a_page_run(name: str, tmp_path: Path) -> None:
    for file, text in FILE.findall(PAGES[name]):
        (tmp_path / file).write_text(text)
    with command_line(tmp_path, ASSUME_YES="1") as line:
        environ = {"PATH": f"{_program(line)}{os.pathsep}{line.environ['PATH']}"}
        for one in RUNNABLE[name]:
            if one.startswith("export "):
                key, _, value = one.removeprefix("export ").partition("=")
                environ[key] = value
                continue
            expected = re.search(r"# exit code (\d+)", one)
            done = line.process(["sh", "-c", one], environ)
            assert done.returncode == (int(expected[1]) if expected else 0), f"{one}\n{done.stderr}"


def _program(line: CommandLine) -> Path:
    folder = line.home / "bin"
    folder.mkdir()
    for name in ("clusterctl", "eks-clusterctl"):
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clusterctl "$@"\n')
        (folder / name).chmod(0o755)
    return folder
