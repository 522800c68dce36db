"""The house style as laws over the syntax trees of src and tests. Nothing is faked."""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "clusterctl"

MOST_FUNCTION_LINES = 45
MOST_MEDIAN_LINES = 10
MOST_FILE_LINES = 350
MOST_PARAMETERS = 6
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
HOMES = {  # a library -> the only places that may import it, lazily too
    "boto3": ("adapters/aws/",),
    "sh": ("adapters/process.py",),
    "typer": ("cli/",),
    "rich": ("cli/",),
    "jinja2": ("rendering/",),
    "tenacity": ("engine/waiting.py", "adapters/"),
}
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home|root|Users|tmp)/[\w.]")
REGISTRY_HOST = re.compile(
    r"(?:files\.)?pythonhosted|pypi\.org|registry\.npmjs|deb\.debian\.org|proxy\.golang", re.IGNORECASE
)
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file: its path from the top, its text and its tree."""

    path: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @cached_property
    def functions(self) -> tuple[AnyFunction, ...]:
        return tuple(node for node in self.nodes if isinstance(node, AnyFunction))

    @cached_property
    def by_name(self) -> dict[str, AnyFunction]:
        return {one.name: one for one in self.functions}


@cache
def folder_sources(folder: str) -> tuple[Source, ...]:
    files = sorted((ROOT / folder).rglob("*.py"))
    texts = [(str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) for file in files]
    return tuple(Source(path, text, ast.parse(text)) for path, text in texts)


def sources(*folders: str) -> tuple[Source, ...]:
    return tuple(source for folder in folders for source in folder_sources(folder))


def functions(source: Source) -> tuple[AnyFunction, ...]:
    return source.functions


def length(function: AnyFunction) -> int:
    """Lines from the `def` to the end; decorators do not count."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def parameters(function: AnyFunction) -> int:
    taken = function.args
    names = [one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def imports(source: Source) -> Iterator[tuple[str, int]]:
    """Every module imported anywhere in a file, within functions as well, with its line."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno


def is_command(function: AnyFunction) -> bool:
    """A Typer command, or what makes an Invocation: its parameters are the options that it takes."""
    first = function.args.args[0].annotation if function.args.args else None
    takes_options = any(one is not None and ast.unparse(one) == "Invocation" for one in (first, function.returns))
    named = any("command" in ast.unparse(one) or "callback" in ast.unparse(one) for one in function.decorator_list)
    return named or takes_options


def report(problems: list[str]) -> None:
    assert not problems, "\n" + "\n".join(problems)


def test_there_is_source_to_look_at() -> None:
    assert len(sources("src")) > 20


def test_no_function_is_long() -> None:
    report([
        f"{source.path}:{one.lineno} {one.name} has {length(one)} lines, {MOST_FUNCTION_LINES} at most"
        for source in sources("src") for one in functions(source) if length(one) > MOST_FUNCTION_LINES
    ])  # fmt: skip


def test_the_usual_function_is_short() -> None:
    median = statistics.median(length(one) for source in sources("src") for one in functions(source))
    assert median <= MOST_MEDIAN_LINES


def test_no_file_is_long() -> None:
    counted = [(source.path, len(source.text.splitlines())) for source in sources("src")]
    report(
        [f"{path} has {lines} lines, {MOST_FILE_LINES} at most" for path, lines in counted if lines > MOST_FILE_LINES]
    )


def test_no_function_takes_many_parameters() -> None:
    report([
        f"{source.path}:{one.lineno} {one.name} takes {parameters(one)} parameters, {MOST_PARAMETERS} at most"
        for source in sources("src") for one in functions(source)
        if parameters(one) > MOST_PARAMETERS and not is_command(one)
    ])  # fmt: skip


def test_modules_and_public_classes_say_what_they_are() -> None:
    silent = [
        f"{source.path}: no module docstring"
        for source in sources("src", "scripts", "tests")
        if not ast.get_docstring(source.tree)
    ]
    for source in sources("src"):
        protocols = source.path.endswith("/ports.py")  # there, the methods speak
        silent += [
            f"{source.path}:{node.lineno} class {node.name}: no docstring"
            for node in source.tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            and not ast.get_docstring(node) and not protocols and not _says_itself(node)
        ]  # fmt: skip
    report(silent)


def _says_itself(node: ast.ClassDef) -> bool:
    """Actions and events are one noun with its fields; an action prints as a plan line."""
    names = {ast.unparse(one) for one in node.decorator_list}
    methods = [one.name for one in node.body if isinstance(one, AnyFunction)]
    protocol = any("Protocol" in ast.unparse(base) for base in node.bases)
    return protocol or (any("dataclass" in name for name in names) and methods in ([], ["__str__"]))


def test_names_of_modules_say_what_is_in_them() -> None:
    stems = {part for source in sources("src", "tests") for part in Path(source.path).with_suffix("").parts}
    assert not stems & VAGUE_NAMES


def test_no_two_test_files_share_a_name() -> None:
    names = [Path(source.path).name for source in sources("tests") if Path(source.path).name.startswith("test_")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_only_the_console_prints() -> None:
    report([
        f"{source.path}:{node.lineno} print()"
        for source in sources("src") for node in source.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ])  # fmt: skip


def test_fakes_are_passed_in_and_never_patched_in() -> None:
    report([
        f"{source.path}:{line} imports {name}"
        for source in sources("src", "tests") for name, line in imports(source)
        if name.split(".")[0] == "mock" or name.startswith("unittest.mock")
    ])  # fmt: skip


def test_nothing_is_left_for_later() -> None:
    here = Path(__file__).name
    report([
        f"{source.path}:{number} {line.strip()[:80]}"
        for source in sources("src", "tests", "scripts") if not source.path.endswith(here)
        for number, line in enumerate(source.text.splitlines(), 1) if UNFINISHED.search(line)
    ])  # fmt: skip


def tracked_texts() -> Iterator[tuple[str, str]]:
    """All that a reader of the project sees: code, scripts, templates, pages."""
    endings = {".py", ".md", ".j2", ".yaml", ".yml", ".toml", ".sh", ".example", ""}
    skipped = {".git", ".venv", ".clusterctl", ".hypothesis", ".mypy_cache", ".ruff_cache", "build", "dist"}
    tops = [one for one in ROOT.iterdir() if one.name not in skipped]
    for file in sorted(file for top in tops for file in (top, *top.rglob("*"))):
        parts = file.relative_to(ROOT).parts
        if skipped & set(parts) or any(part.endswith("_cache") for part in parts) or not file.is_file():
            continue
        if file.suffix in endings and file.stat().st_size < 1_000_000:
            yield "/".join(parts), file.read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize(("what", "pattern"), [("path of a machine", MACHINE_PATH), ("registry host", REGISTRY_HOST)])
def test_the_project_names_no_machine_and_no_registry(what: str, pattern: re.Pattern[str]) -> None:
    own = Path(__file__).name
    looked_at = [
        (path, text) for path, text in tracked_texts() if not path.endswith(own) and not path.startswith("tests/")
    ]
    assert looked_at
    report([
        f"{path}:{number} {what}: {found.group()}"
        for path, text in looked_at for number, line in enumerate(text.splitlines(), 1)
        if (found := pattern.search(line))
    ])  # fmt: skip


@pytest.mark.parametrize("library", sorted(HOMES))
def test_a_library_has_one_home(library: str) -> None:
    strays = []
    for source in sources("src"):
        place = source.path.removeprefix("src/clusterctl/")
        if not place.startswith(HOMES[library]):
            strays += [
                f"{source.path}:{line} imports {name}"
                for name, line in imports(source)
                if name.split(".")[0] == library
            ]
    report(strays)


def test_every_test_can_fail() -> None:
    report([
        f"{source.path}:{one.lineno} {one.name} asserts nothing"
        for source in sources("tests") for one in functions(source)
        if one.name.startswith("test_") and not _can_fail(one, source)
    ])  # fmt: skip


def _can_fail(function: AnyFunction, source: Source) -> bool:
    """An assert of its own, `pytest.raises`, or a function of the same file that asserts."""
    local = source.by_name
    called = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    own = any(isinstance(node, ast.Assert) and not _is_true(node) for node in ast.walk(function))
    through = any(name in local and local[name] is not function and _asserts(local[name]) for name in called)
    return (
        own
        or through
        or bool(called & {"pytest.raises", "pytest.fail", "raises"})
        or any("assert" in name for name in called)
    )


def _asserts(function: AnyFunction) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(function))


def _is_true(node: ast.Assert) -> bool:
    return isinstance(node.test, ast.Constant)


def test_test_names_are_claims() -> None:
    report([
        f"{source.path}:{one.lineno} {one.name}"
        for source in sources("tests") for one in functions(source)
        if one.name.startswith("test_") and len(one.name.split("_")) < 4
    ])  # fmt: skip
