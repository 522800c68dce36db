"""What `clusterctl doctor` looks at. Every check stands alone: one that fails hides no other."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from clusterctl.adapters.aws.permissions import PermissionCheck
from clusterctl.adapters.kubeconfig import own_program
from clusterctl.adapters.process import EKSCTL, HELM, KUBECTL, Tool
from clusterctl.errors import AccessError, ClusterctlError, QuotaTooSmallError
from clusterctl.model.capacity import Question
from clusterctl.model.failures import Cause
from clusterctl.model.instances import quota_code
from clusterctl.model.permissions import Principal, principal_of
from clusterctl.rendering.policies import USES, policy
from clusterctl.wiring.bench import Bench

_SIMULATE = "allow iam:SimulatePrincipalPolicy and iam:GetRole on the caller's role"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. `holds` is None where it could not be made; `error` is what its failure means."""

    message: str
    remedy: str = ""
    holds: bool | None = True
    error: type[ClusterctlError] = ClusterctlError


Look = Callable[[], Finding]


def examine(bench: Bench) -> tuple[list[dict[str, Any]], ClusterctlError | None]:
    """The checks as documents, and the first error that would stop a deployment."""
    problems: list[ClusterctlError] = []
    documents = [
        _checked(check_id, severity, look, problems)
        for check_id, severity, look in chain(_here(bench), _of_account(bench, problems))
    ]
    return documents, problems[0] if problems else None


def _here(bench: Bench) -> Iterator[tuple[str, str, Look]]:
    """What can be looked at without AWS, then who calls AWS."""
    yield "command", "warning", _command
    for kind in (EKSCTL, HELM, KUBECTL):
        yield kind.name, "error", partial(_tool, Tool(kind, bench.world.children, bench.world.tool_folders))
    yield "credentials", "error", partial(_credentials, bench)


def _of_account(bench: Bench, problems: Sequence[ClusterctlError]) -> Iterator[tuple[str, str, Look]]:
    """What is asked of AWS; skipped, and said to be, where nobody may ask."""
    denied = cache(partial(_denied, bench))
    asked: list[tuple[str, str, Look]] = [(f"may-{use}", "error", partial(_may, bench, use, denied)) for use in USES]
    asked += [("survey", "error", partial(_survey, bench)), ("quota", "error", partial(_quota, bench))]
    asked += [("kubeconfig", "warning", partial(_kubeconfig, bench))]
    for check_id, severity, look in asked:
        unknown = any(isinstance(one, AccessError) for one in problems) and "identity" not in vars(bench)
        yield check_id, severity, _nobody if unknown else look


def _checked(check_id: str, severity: str, look: Look, problems: list[ClusterctlError]) -> dict[str, Any]:
    try:
        found = look()
        failed = found.error(found.message, hint=found.remedy)
    except ClusterctlError as problem:
        found, failed = Finding(problem.message, problem.hint, holds=False), problem
    if found.holds is False and severity == "error":
        problems.append(failed)
    return {
        "id": check_id,
        "ok": found.holds is True,
        "skipped": found.holds is None,
        "severity": severity,
        "message": found.message,
        "remedy": "" if found.holds else found.remedy,
    }


def _nobody() -> Finding:
    return Finding("not looked at: there are no credentials to ask with", "see the check of credentials", holds=None)


def _command() -> Finding:
    found, ours = shutil.which("clusterctl"), own_program()[0]
    if found and Path(ours).name == "clusterctl" and Path(found).resolve() != Path(ours).resolve():
        return Finding(
            f"PATH finds {found} first, another tool of this name", "use eks-clusterctl, or change PATH", holds=False
        )
    return Finding(f"this is {ours}")


def _tool(tool: Tool) -> Finding:
    path = tool.checked_path
    return Finding(f"{path} {'.'.join(map(str, tool.version))}")


def _credentials(bench: Bench) -> Finding:
    identity = bench.identity
    return Finding(f"{identity.arn} in account {identity.account_id}")


def _denied(bench: Bench, name: str) -> tuple[str, ...]:
    """The actions of one of our policies that the caller lacks."""
    return PermissionCheck(bench.world.session, bench.identity, bench.settings.region).denied(policy(name))


def _may(bench: Bench, use: str, denied: Callable[[str], tuple[str, ...]]) -> Finding:
    """Whether the policies of a use are in force. Where IAM may not be asked, nothing is known."""
    try:
        lacking = dict.fromkeys(action for name in USES[use] for action in denied(name))
    except ClusterctlError as problem:
        return Finding(problem.message, _SIMULATE, holds=None)
    return _permission(principal_of(bench.identity.arn), use, tuple(lacking))


def _permission(principal: Principal, use: str, denied: Sequence[str]) -> Finding:
    if denied:
        files = ", ".join(f"docs/iam/{name}.json" for name in USES[use])
        message = f"to {use}, {principal.arn} lacks {', '.join(denied)}"
        return Finding(message, f"attach {files}", holds=False, error=AccessError)
    if principal.is_root:
        return Finding(f"{principal.arn} may do everything; a role with docs/iam would be safer")
    return Finding(f"{principal.arn} may {use}")


def _question(bench: Bench) -> Question:
    settings = bench.settings
    return Question(settings.types, settings.gpu_node_count, (settings.region,), cluster=settings.cluster_name)


def _survey(bench: Bench) -> Finding:
    facts = bench.tools.survey.ask(_question(bench))[0]
    if facts.problems:
        told = "; ".join(f"{part}: {failure.message or failure.code}" for part, failure in facts.problems.items())
        denied = any(failure.cause is Cause.DENIED for failure in facts.problems.values())
        remedy = "see docs/permissions.md for the actions needed" if denied else "run it again in a minute"
        error = AccessError if denied else ClusterctlError
        return Finding(f"{facts.region} did not tell {told}", remedy, holds=False, error=error)
    return Finding(f"{facts.region} answers: {len(facts.zones)} zones, {len(facts.offered)} offerings")


def _quota(bench: Bench) -> Finding:
    settings, question = bench.settings, _question(bench)
    facts = bench.tools.survey.ask(question)[0]
    kind, code = facts.types.get(settings.types[0]), quota_code(settings.types[0])
    quota = facts.quotas.get(code)
    if kind is None or quota is None or quota.limit is None:
        return Finding(f"{code} in {settings.region} is not known", "allow servicequotas:GetServiceQuota", holds=None)
    needed = kind.vcpus * question.nodes
    remedy = (
        f"aws service-quotas request-service-quota-increase --region {settings.region} --service-code ec2 "
        f"--quota-code {code} --desired-value {needed + (quota.used or 0)}"
    )
    message = f"{code}: {quota.limit:.0f} vCPUs, {quota.used} used, {needed} needed for {question.nodes} x {kind.name}"
    verdict = quota.verdict(needed)
    holds = None if verdict == "unknown" else verdict == "ok"
    return Finding(message, remedy, holds=holds, error=QuotaTooSmallError)


def _kubeconfig(bench: Bench) -> Finding:
    target = bench.target
    state = bench.tools.clusters.cluster(target.region, target.cluster)
    if not state.exists:
        return Finding(f"no cluster {target.cluster} in {target.region}", "clusterctl deploy-all", holds=None)
    path = bench.tools.kubeconfig.path(target.cluster, target.region)
    return Finding(path, "clusterctl cluster", holds=bench.tools.kubeconfig.current(state.access))
