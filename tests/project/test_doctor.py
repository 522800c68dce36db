"""`clusterctl doctor` against the sandbox: each check, what is wrong, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_sandbox import CommandLine, command_line

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    with command_line(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(autouse=True)
def _no_faults(line: CommandLine) -> Iterator[None]:
    yield
    line.run("sandbox", "fault", "--clear")


def checks(line: CommandLine, code: int = 0, **environ: str) -> dict[str, dict[str, Any]]:
    import json

    document = json.loads(line.run("doctor", "-o", "json", code=code, environ=environ).stdout)
    assert document["ok"] is (code == 0)
    assert document.get("error", {}).get("exit_code", 0) == code
    return {one["id"]: one for one in document["checks"]}


def test_a_good_account_passes_every_check_that_can_be_made(line: CommandLine) -> None:
    found = checks(line)
    assert list(found) == [
        "command", "eksctl", "helm", "kubectl", "credentials", "may-plan", "may-deploy", "may-teardown",
        "survey", "quota", "kubeconfig",
    ]  # fmt: skip
    assert [name for name, one in found.items() if not one["ok"]] == ["kubeconfig"]
    assert found["kubeconfig"]["skipped"]
    assert all(set(one) >= {"id", "ok", "severity", "message", "remedy"} for one in found.values())


def test_a_missing_permission_is_named_with_the_policies_to_attach(line: CommandLine) -> None:
    line.run("sandbox", "fault", "--on", "ec2:CreateCapacityReservation", "--error", "UnauthorizedOperation")
    found = checks(line, code=6)
    assert "lacks ec2:CreateCapacityReservation" in found["may-deploy"]["message"]
    assert "docs/iam/deploy.json" in found["may-deploy"]["remedy"]
    assert found["may-plan"]["ok"]
    assert found["may-teardown"]["ok"]


def test_a_simulator_that_may_not_be_asked_says_skipped_and_never_ok(line: CommandLine) -> None:
    line.run("sandbox", "fault", "--on", "iam:SimulatePrincipalPolicy", "--error", "AccessDenied")
    found = checks(line)
    for use in ("may-plan", "may-deploy", "may-teardown"):
        assert (found[use]["ok"], found[use]["skipped"]) == (False, True)
        assert "iam:SimulatePrincipalPolicy" in found[use]["remedy"]


def test_expired_credentials_hide_no_check_of_tools(line: CommandLine) -> None:
    found = checks(line, code=6, CLUSTERCTL_SANDBOX_ACCESS_KEY="AKIAEXPIRED000000000")
    assert not found["credentials"]["ok"]
    assert "log in again" in found["credentials"]["remedy"]
    assert found["helm"]["ok"]
    assert all(found[name]["skipped"] for name in ("may-plan", "survey", "quota", "kubeconfig"))


def test_a_quota_that_is_too_small_ends_with_its_exit_code_and_the_request(line: CommandLine, tmp_path: Path) -> None:
    small = tmp_path / "small.yaml"
    small.write_text("quotas: {us-east-2: {L-DB2E81BA: 8}}\n")
    line.run("sandbox", "fault", str(small))
    assert "request-service-quota-increase" in checks(line, code=4)["quota"]["remedy"]
    line.run("sandbox", "fault", str(_empty(tmp_path)))


def test_a_denied_quota_is_unknown_and_not_too_small(line: CommandLine) -> None:
    line.run("sandbox", "fault", "--on", "service-quotas:GetServiceQuota", "--error", "AccessDeniedException")
    found = checks(line, code=6)
    assert found["quota"]["skipped"]
    assert "servicequotas:GetServiceQuota" in found["may-plan"]["message"]


def test_another_clusterctl_first_on_path_is_a_warning(line: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "clusterctl"
    other.write_text("#!/bin/sh\nexit 0\n")
    other.chmod(0o755)
    found = checks(line, PATH=f"{tmp_path}:{line.environ['PATH']}")
    assert found["command"]["severity"] == "warning"
    if not found["command"]["ok"]:  # a checkout that was never installed has no script of its own
        assert "eks-clusterctl" in found["command"]["remedy"]


def test_a_tool_that_is_missing_is_named_with_where_to_get_it(line: CommandLine, tmp_path: Path) -> None:
    broken = tmp_path / "helm"
    broken.write_text("#!/bin/sh\necho v3.1.0\n")
    broken.chmod(0o755)
    (line.world / "bin" / "helm").symlink_to(broken)
    try:
        found = checks(line, code=7)
    finally:
        (line.world / "bin" / "helm").unlink()
    assert "3.1.0" in found["helm"]["message"]
    assert found["helm"]["remedy"].startswith("https://helm.sh")


def _empty(folder: Path) -> Path:
    file = folder / "empty.yaml"
    file.write_text("speed: 600\n")
    return file
