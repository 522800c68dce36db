"""Launch files checked: from names to the document of `clusterctl lint`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from clusterctl.adapters.launch_files import read_launch_files
from clusterctl.errors import UsageError, VerificationError
from clusterctl.model.lint.linting import lint


def lint_files(names: Iterable[str]) -> tuple[dict[str, Any], VerificationError | None]:
    """The document of all findings, and the error that they are.

    Raises UsageError for a file that cannot be checked, and where nothing could be: no findings is then no answer.
    """
    findings: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    checked = 0
    for file in read_launch_files(names):
        result = lint(file.path, file.text)
        if result.skipped and file.named:
            raise UsageError(f"cannot check {file.path}: {result.skipped}", hint="name manifests, scripts or folders")
        if result.skipped:
            skipped.append({"path": file.path, "why": result.skipped})
        checked += not result.skipped
        findings += [_document(asdict(one)) for one in result.findings]
    if not checked:
        raise UsageError("found nothing to check", hint="name manifests, batch scripts or folders of them")
    return {"checked": checked, "skipped": skipped, "findings": findings}, _judged(findings)


def _document(finding: dict[str, Any]) -> dict[str, Any]:
    order = ("rule", "severity", "path", "line", "message", "reason", "fix")
    return {name: finding["rule_id" if name == "rule" else name] for name in order}


def _judged(findings: list[dict[str, Any]]) -> VerificationError | None:
    if not findings:
        return None
    files = len({one["path"] for one in findings})
    return VerificationError(
        f"{len(findings)} finding{'s' * (len(findings) > 1)} in {files} file{'s' * (files > 1)}",
        hint="correct them, or write `# lint: allow RULE` on the line above one that is meant",
    )
