"""The files for CI, cron and containers: what they call is run here, against the sandbox."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli_sandbox import CommandLine, command_line
from clusterctl.model import pins

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
TRAIN = SCRIPTS / "github" / "train.yml"
REAP = SCRIPTS / "github" / "reap.yml"
CRONTAB = SCRIPTS / "cron" / "crontab"
CRONJOB = SCRIPTS / "cron" / "cronjob.yaml"
CONTAINER = SCRIPTS / "container"
EXPRESSIONS = {
    "vars.CLUSTERCTL_IMAGE": "registry.example/clusterctl:0.1.0",
    "vars.CLUSTERCTL_ROLE": "arn:aws:iam::123456789012:role/ci",
    "vars.CLUSTERCTL_REGIONS": "us-east-2",
    "github.run_id": "4711",
    "inputs.workload": "job-allreduce",
}
ACTIONS = {"aws-actions/configure-aws-credentials": "v4", "actions/upload-artifact": "v4"}
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def workflow(file: Path) -> dict[str, Any]:
    """A workflow, where YAML 1.1 reads the key `on` as true."""
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    found["on"] = found.pop(True)
    return found


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with GitHub's expressions filled in. Raises KeyError for one that nobody knows."""
    return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda one: values[one[1]], text)


@dataclass
class Job:
    """Runs the steps of a job as a runner does: after a failure only those that are to run always."""

    line: CommandLine
    steps: list[dict[str, Any]]
    environ: dict[str, str]
    ran: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def run(self) -> Job:
        for step in self.steps:
            if "run" in step and (not self.failed or step.get("if") == "always()"):
                self._step(step)
        return self

    def _step(self, step: dict[str, Any]) -> None:
        self.ran.append(step["name"])
        done = self.line.process(["sh", "-e", "-c", step["run"]], self.environ)
        if done.returncode:
            self.failed.append(f"{step['name']}: {done.stderr[-2000:]}")


def job(line: CommandLine, file: Path, name: str, **inputs: str) -> Job:
    """A job with its environment, in a home that has a `clusterctl` on PATH."""
    described = workflow(file)["jobs"][name]
    values = {**EXPRESSIONS, **{f"inputs.{key}": value for key, value in inputs.items()}}
    environ = {key: filled(str(value), values) for key, value in described["env"].items()}
    return Job(line, described["steps"], {**environ, "PATH": f"{_program(line)}{os.pathsep}{line.environ['PATH']}"})


def _program(line: CommandLine) -> Path:
    folder = line.home / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "clusterctl"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clusterctl "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    with command_line(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture
def account(line: CommandLine) -> CommandLine:
    """A sandbox in which nothing stands."""
    line.run("sandbox", "reset")
    (line.home / ".placement.env").unlink(missing_ok=True)
    return line


def living(line: CommandLine) -> dict[str, Any]:
    """What is in the account and still exists: reservations that are over stay listed for a while, as on AWS."""
    over = {"cancelled", "expired", "failed"}
    rows = {
        (region, kind): [row for row in found if row.get("State", row.get("state")) not in over]
        for region, kinds in line.inventory().items() for kind, found in kinds.items()
    }  # fmt: skip
    return {f"{region}/{kind}": found for (region, kind), found in rows.items() if found}


# --- the workflows, run


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_job_that_goes_well_trains_and_leaves_nothing(account: CommandLine) -> None:
    described = workflow(TRAIN)["on"]["workflow_dispatch"]["inputs"]["workload"]["default"]
    done = job(account, TRAIN, "train", workload=described).run()
    assert done.failed == []
    assert done.ran[-2:] == ["Train", "Tear down"]
    assert living(account) == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_training_step_that_fails_still_ends_in_an_empty_account(account: CommandLine) -> None:
    done = job(account, TRAIN, "train", workload="no-such-workload").run()
    assert [one.split(":")[0] for one in done.failed] == ["Train"], done.failed
    assert done.ran[-1] == "Tear down"
    assert living(account) == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_deployment_that_fails_still_ends_in_an_empty_account(account: CommandLine) -> None:
    account.run("sandbox", "fault", "--on", "eksctl:create-nodegroup", "--outcome", "rollback")
    done = job(account, TRAIN, "train").run()
    assert done.failed[0].startswith("Deploy"), done.failed
    assert len(done.failed) == 1
    assert "Train" not in done.ran
    assert living(account) == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_a_killed_job_left_is_reaped_once_it_has_expired(account: CommandLine) -> None:
    account.run("deploy-all", "--yes", "--ttl", "1m")
    (account.home / ".placement.env").unlink()
    done = job(account, REAP, "reap").run()
    assert done.failed == []
    assert living(account) == {}


def test_the_line_of_the_crontab_runs(account: CommandLine) -> None:
    (entry,) = [one for one in CRONTAB.read_text().splitlines() if re.match(r"[\d*]", one)]
    fields = entry.split(None, 5)
    assert all(re.fullmatch(r"[\d*/,-]+", one) for one in fields[:5])
    done = account.process(
        ["sh", "-c", fields[5]], {"PATH": f"{_program(account)}{os.pathsep}{account.environ['PATH']}"}
    )
    assert done.returncode == 0, done.stderr


def test_the_command_of_the_cron_job_runs(account: CommandLine) -> None:
    program, *arguments = _container()["command"]
    assert program == "clusterctl"
    account.run(*arguments)


# --- the workflows, read


@pytest.mark.parametrize("file", [TRAIN, REAP])
def test_a_workflow_asks_for_no_more_than_it_needs(file: Path) -> None:
    described = workflow(file)
    assert described["permissions"] == {"contents": "read", "id-token": "write"}
    assert described["concurrency"]["cancel-in-progress"] is False
    for one in described["jobs"].values():
        assert one["timeout-minutes"] <= 240
        used = [step["uses"].split("@") for step in one["steps"] if "uses" in step]
        assert dict(used).items() <= ACTIONS.items()


@pytest.mark.parametrize("file", [TRAIN, REAP])
def test_no_expression_stands_in_a_shell_line(file: Path) -> None:
    steps = [step for one in workflow(file)["jobs"].values() for step in one["steps"]]
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []


def test_the_teardown_always_runs_with_a_fresh_session() -> None:
    steps = workflow(TRAIN)["jobs"]["train"]["steps"]
    position = {step["name"]: number for number, step in enumerate(steps)}
    assert position["Sign in again"] == position["Tear down"] - 1
    assert {steps[position[name]]["if"] for name in ("Sign in again", "Tear down")} == {"always()"}


def test_a_cluster_of_the_workflow_expires_after_the_job_must_have_ended() -> None:
    described = workflow(TRAIN)["jobs"]["train"]
    deploy = next(step["run"] for step in described["steps"] if "deploy-all" in step.get("run", ""))
    hours = int(re.search(r"--ttl (\d+)h", deploy)[1])  # type: ignore[index]
    assert hours * 60 > described["timeout-minutes"]


# --- the cron job


def _container() -> dict[str, Any]:
    cron = next(one for one in yaml.safe_load_all(CRONJOB.read_text()) if one["kind"] == "CronJob")
    (container,) = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    return dict(container)


def test_the_cron_job_has_no_rights_of_its_own_and_never_overlaps() -> None:
    _, account, cron = yaml.safe_load_all(CRONJOB.read_text())
    pod = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert cron["spec"]["concurrencyPolicy"] == "Forbid"
    assert pod["serviceAccountName"] == account["metadata"]["name"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert _container()["securityContext"]["readOnlyRootFilesystem"] is True
    assert not _container()["image"].endswith(":latest")


def test_the_role_of_the_cron_job_is_for_its_service_account_alone() -> None:
    import json

    trust = json.loads((ROOT / "docs" / "iam" / "trust" / "pod-identity.json").read_text())
    (statement,) = trust["Statement"]
    tags = statement["Condition"]["StringEquals"]
    cron = next(one for one in yaml.safe_load_all(CRONJOB.read_text()) if one["kind"] == "ServiceAccount")
    assert tags["aws:RequestTag/kubernetes-namespace"] == cron["metadata"]["namespace"]
    assert tags["aws:RequestTag/kubernetes-service-account"] == cron["metadata"]["name"]


# --- the container


def test_the_image_runs_without_rights_and_takes_nothing_unchecked() -> None:
    recipe = (CONTAINER / "Containerfile").read_text(encoding="utf-8")
    last = recipe.rpartition("\nFROM ")[2]
    assert re.search(r"^USER [1-9]\d+$", last, re.MULTILINE)
    assert ":latest" not in recipe
    assert "curl" not in recipe
    assert "wget" not in recipe
    for tool in ("kubectl", "helm", "eksctl"):
        assert re.search(rf"^ARG {tool.upper()}_VERSION$", recipe, re.MULTILINE)
        assert re.search(rf'"\${{{tool.upper()}_SHA256:\?}}" {tool} /tools', recipe)


def test_what_the_image_copies_exists_and_is_all_that_the_package_needs() -> None:
    recipe = (CONTAINER / "Containerfile").read_text(encoding="utf-8")
    copied = {word for one in re.findall(r"^COPY (?!--)(.+) \S+$", recipe, re.MULTILINE) for word in one.split()}
    assert [one for one in copied if not (ROOT / one).exists()] == []
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    included = re.findall(r'^"([\w/]+)" = "clusterctl/', project, re.MULTILINE)
    assert {*included, "src", "pyproject.toml", "README.md", "LICENSE"} <= copied


def fetch(source: Path, checksum: str, name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [CONTAINER / "fetch_tool.sh", source.as_uri(), checksum, name, folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("packed", [True, False])
def test_a_tool_with_the_right_checksum_is_installed(tmp_path: Path, *, packed: bool) -> None:
    source = _tool(tmp_path, packed=packed)
    done = fetch(source, hashlib.sha256(source.read_bytes()).hexdigest(), "tool", tmp_path)
    assert done.returncode == 0, done.stderr
    said = subprocess.run([tmp_path / "tool"], capture_output=True, text=True, check=True, timeout=20)
    assert said.stdout == "here\n"


def test_a_tool_with_another_checksum_is_refused(tmp_path: Path) -> None:
    done = fetch(_tool(tmp_path, packed=False), "0" * 64, "tool", tmp_path)
    assert done.returncode == 1
    assert "does not have the checksum" in done.stderr
    assert not (tmp_path / "tool").exists()


def _tool(folder: Path, *, packed: bool) -> Path:
    program = folder / "download"
    program.write_text("#!/bin/sh\necho here\n")
    if not packed:
        return program
    with tarfile.open(folder / "tool.tar.gz", "w:gz") as archive:
        archive.add(program, "linux-amd64/tool")
    return folder / "tool.tar.gz"


# --- the shell in all of them


def shell_texts() -> dict[str, str]:
    """Every shell script, and every shell line of a workflow."""
    found = {one.relative_to(ROOT).as_posix(): one.read_text(encoding="utf-8") for one in SCRIPTS.rglob("*.sh")}
    for file in (TRAIN, REAP):
        for one in workflow(file)["jobs"].values():
            found |= {
                f"{file.name}, {step['name']}": f"#!/bin/sh\n{step['run']}\n" for step in one["steps"] if "run" in step
            }
    return found


@pytest.mark.skipif(SHELLCHECK is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("name", shell_texts())
def test_shellcheck_finds_nothing(name: str) -> None:
    command = [str(SHELLCHECK), "--severity=style", "-"]
    said = subprocess.run(command, input=shell_texts()[name], capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 0, said.stdout


def test_the_versions_that_the_page_builds_with_are_new_enough() -> None:
    page = (ROOT / "docs" / "how-to" / "container.md").read_text(encoding="utf-8")
    for tool, least in (
        ("KUBECTL", pins.MINIMUM_KUBECTL), ("HELM", pins.MINIMUM_HELM), ("EKSCTL", pins.MINIMUM_EKSCTL),
    ):  # fmt: skip
        found = re.search(rf"{tool}_VERSION=(\d+)\.(\d+)\.(\d+)", page)
        assert found is not None
        assert tuple(map(int, found.groups())) >= least
