"""One file in, its findings out: what kind of file it is, which rules are for it, and what is allowed on the spot."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from clusterctl.model.lint.finding import Finding, Hit, Rule, Severity
from clusterctl.model.lint.pods import Manifest
from clusterctl.model.lint.rules import RULES
from clusterctl.model.lint.shell import Script, read_script
from clusterctl.model.lint.yaml_lines import Map, Text, YamlError, read_yaml

UNREADABLE = Rule(
    "unreadable", Severity.ERROR, "what cannot be read cannot be launched, and was not checked", "correct the syntax"
)
ALLOWED = re.compile(r"#.*\blint:\s*allow\s+([\w-]+(?:\s*,\s*[\w-]+)*)")
TEMPLATE = re.compile(r"\{\{|\{%")
YAML_ENDINGS = (".yaml", ".yml", ".json")
SHELL_ENDINGS = (".sh", ".sbatch", ".slurm", ".bash")
SHEBANG = re.compile(r"#!.*\b(bash|sh|dash|zsh|python[\d.]*)\b")


class Kind(Enum):
    """How a file is read. `OTHER` is not checked."""

    YAML = "yaml"
    SHELL = "shell"
    PYTHON = "python"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Linted:
    """What came of one file; `skipped` says why it was not looked at."""

    findings: tuple[Finding, ...] = ()
    skipped: str = ""


def kind_of(path: str, text: str) -> Kind:
    """By the name, and for a name without an ending by the first line."""
    lowered = path.lower()
    if lowered.endswith(YAML_ENDINGS):
        return Kind.YAML
    if lowered.endswith(SHELL_ENDINGS):
        return Kind.SHELL
    if lowered.endswith(".py"):
        return Kind.PYTHON
    name = lowered.rpartition("/")[2]
    found = SHEBANG.match(text)
    if found and "." not in name:
        return Kind.PYTHON if found[1].startswith("python") else Kind.SHELL
    if name == "-":
        return Kind.YAML if re.search(r"^kind:", text, re.MULTILINE) else Kind.SHELL
    return Kind.OTHER


def lint(path: str, text: str) -> Linted:
    """All findings of one file, in the order of its lines."""
    kind = kind_of(path, text)
    if kind is Kind.OTHER:
        return Linted(skipped="neither YAML nor a shell or Python script")
    try:
        hits = list(_hits(kind, text))
    except (YamlError, SyntaxError) as problem:
        if TEMPLATE.search(text) and kind is Kind.YAML:
            return Linted(skipped="a template: render it and check the result")
        line = getattr(problem, "line", None) or getattr(problem, "lineno", None) or 1
        hits = [(UNREADABLE, (line, str(problem).partition(" (")[0]))]
    return Linted(tuple(sorted(set(_findings(path, text, hits)))))


def _hits(kind: Kind, text: str) -> Iterator[tuple[Rule, Hit]]:
    match kind:
        case Kind.YAML:
            for document in read_yaml(text):
                yield from _document_hits(document)
        case Kind.PYTHON:
            yield from _code_hits(text, 1)
        case _:
            yield from _script_hits(read_script(text))


def _document_hits(document: Any) -> Iterator[tuple[Rule, Hit]]:
    if not isinstance(document, Map):
        return
    if document.get("kind") == "List":
        for one in document.maps("items"):
            yield from _document_hits(one)
        return
    is_object = isinstance(document.get("kind"), str) and isinstance(document.get("apiVersion"), str)
    subject: Any = Manifest(document) if is_object else document
    for rule in RULES:
        check = rule.manifest if is_object else rule.values
        yield from ((rule, hit) for hit in (check(subject) if check else ()))
    yield from _embedded_hits(document)


def _embedded_hits(document: Map) -> Iterator[tuple[Rule, Hit]]:
    """Scripts that travel in a ConfigMap."""
    for name, text in document.map("data").items() if document.get("kind") == "ConfigMap" else ():
        kind = kind_of(name, str(text))
        if isinstance(text, Text) and kind is Kind.SHELL:
            yield from _script_hits(read_script(str(text), text.line))
        if isinstance(text, Text) and kind is Kind.PYTHON:
            yield from _code_hits(str(text), text.line)


def _script_hits(script: Script) -> Iterator[tuple[Rule, Hit]]:
    for rule in RULES:
        yield from ((rule, hit) for hit in (rule.script(script) if rule.script else ()))


def _code_hits(text: str, first_line: int) -> Iterator[tuple[Rule, Hit]]:
    tree = ast.parse(text)
    ast.increment_lineno(tree, first_line - 1)
    for rule in RULES:
        yield from ((rule, hit) for hit in (rule.code(tree) if rule.code else ()))


def _findings(path: str, text: str, hits: Iterable[tuple[Rule, Hit]]) -> Iterator[Finding]:
    lines = text.splitlines()
    for rule, (line, message) in hits:
        if rule.rule_id not in _allowed(lines, line):
            yield Finding(path, line, rule.rule_id, message, rule.severity.value, rule.reason, rule.fix)


def _allowed(lines: list[str], line: int) -> set[str]:
    """Rules allowed by a comment `lint: allow ID` at the end of a line or on the line above it."""
    near = [lines[at] for at in (line - 1, line - 2) if 0 <= at < len(lines)]
    if len(near) == 2 and not near[1].lstrip().startswith("#"):
        near.pop()
    found = [match[1] for one in near if (match := ALLOWED.search(one))]
    return {name.strip() for one in found for name in one.split(",")}
