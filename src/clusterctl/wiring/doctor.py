"""What `clusterctl doctor` looks at. Every check stands alone: one that fails hides no other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from clusterctl.adapters.kubeconfig import own_program
from clusterctl.adapters.process import Tool
from clusterctl.errors import ClusterctlError
from clusterctl.model.capacity import Question
from clusterctl.model.instances import quota_code
from clusterctl.wiring.bench import Bench

Said = tuple[bool | None, str, str]  # holds (None: did not run), message, remedy


def examine(bench: Bench) -> tuple[list[dict[str, Any]], ClusterctlError | None]:
    """The checks as documents, and the first error that would stop a deployment."""
    problems: list[ClusterctlError] = []
    documents = [_document("command", "warning", _command())]
    documents.append(_checked("credentials", problems, lambda: _credentials(bench)))
    if problems:
        return documents, problems[0]
    documents += [_checked(tool.kind.name, problems, partial(_tool, tool)) for tool in bench.tools.programs]
    documents.append(_checked("survey", problems, lambda: _survey(bench)))
    documents.append(_checked("quota", problems, lambda: _quota(bench)))
    documents.append(_checked("kubeconfig", problems, lambda: _kubeconfig(bench)))
    return documents, problems[0] if problems else None


def _checked(check_id: str, problems: list[ClusterctlError], look: Callable[[], Said]) -> dict[str, Any]:
    try:
        return _document(check_id, "error", look())
    except ClusterctlError as problem:
        problems.append(problem)
        return _document(check_id, "error", (False, problem.message, problem.hint))


def _document(check_id: str, severity: str, said: Said) -> dict[str, Any]:
    holds, message, remedy = said
    return {
        "id": check_id,
        "ok": holds is True,
        "skipped": holds is None,
        "severity": severity,
        "message": message,
        "remedy": "" if holds else remedy,
    }


def _command() -> Said:
    found, ours = shutil.which("clusterctl"), own_program()[0]
    if found and Path(ours).name == "clusterctl" and Path(found).resolve() != Path(ours).resolve():
        return False, f"PATH finds {found} first, another tool of this name", "use eks-clusterctl, or change PATH"
    return True, f"this is {ours}", ""


def _credentials(bench: Bench) -> Said:
    identity = bench.identity
    return True, f"{identity.arn} in account {identity.account_id}", ""


def _tool(tool: Tool) -> Said:
    path = tool.checked_path
    return True, f"{path} {'.'.join(map(str, tool.version))}", ""


def _question(bench: Bench) -> Question:
    settings = bench.settings
    return Question(settings.types, settings.gpu_node_count, (settings.region,), cluster=settings.cluster_name)


def _survey(bench: Bench) -> Said:
    facts = bench.tools.survey.ask(_question(bench))[0]
    missing = [f"{part}: {failure.message or failure.code}" for part, failure in facts.problems.items()]
    if missing:
        return (
            False,
            f"{facts.region} did not tell {'; '.join(missing)}",
            "see docs/permissions.md for the actions needed",
        )
    return True, f"{facts.region} answers: {len(facts.zones)} zones, {len(facts.offered)} offerings", ""


def _quota(bench: Bench) -> Said:
    settings, question = bench.settings, _question(bench)
    facts = bench.tools.survey.ask(question)[0]
    kind, code = facts.types.get(settings.types[0]), quota_code(settings.types[0])
    quota = facts.quotas.get(code)
    if kind is None or quota is None or quota.limit is None:
        return None, f"{code} in {settings.region} is not known", "allow servicequotas:GetServiceQuota"
    needed = kind.vcpus * question.nodes
    remedy = (
        f"aws service-quotas request-service-quota-increase --region {settings.region} --service-code ec2 "
        f"--quota-code {code} --desired-value {needed + (quota.used or 0)}"
    )
    message = f"{code}: {quota.limit:.0f} vCPUs, {quota.used} used, {needed} needed for {question.nodes} x {kind.name}"
    return quota.verdict(needed) == "ok", message, remedy


def _kubeconfig(bench: Bench) -> Said:
    target = bench.target
    state = bench.tools.clusters.cluster(target.region, target.cluster)
    if not state.exists:
        return None, f"no cluster {target.cluster} in {target.region}", "clusterctl deploy-all"
    path = bench.tools.kubeconfig.path(target.cluster, target.region)
    return bench.tools.kubeconfig.current(state.access), path, "clusterctl cluster"
