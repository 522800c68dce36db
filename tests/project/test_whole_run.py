"""A whole life of a cluster, watched: what it asks of AWS, against the policies, and whether it leaves a secret."""

from __future__ import annotations

import json
import shlex
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cli_sandbox import CommandLine, command_line
from clusterctl.rendering.policies import USES
from clusterctl.sandbox.state import SECRET_KEY
from leftover_seeds import plant
from policy_files import EKSCTL, FREE, POLICIES, PREFIXES, actions, explained
from stack_actions import MAKING, REMOVING

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # many commands, and the machine may be starved


CANARIES = ("canary-secret-access-key", "canary-session-token")
TOKEN = "k8s-aws-v1."  # how a token of EKS begins
SECRETS = (*CANARIES, SECRET_KEY, TOKEN, "X-Amz-Signature")
TOOLS = ("kubectl", "helm")


@dataclass
class Evidence:
    """What a curious neighbour sees: files, printed lines, and the arguments of every process of a run."""

    home: Path
    arguments: set[str] = field(default_factory=set)
    texts: dict[str, bytes] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)

    @contextmanager
    def watched(self, line: CommandLine) -> Iterator[None]:
        """Look at the process list all the while; kubectl and helm also write down what they are called with."""
        _record_arguments(line)
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(done,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join(10)
            self.printed += line.outputs
            log = line.home / "arguments.log"
            self.arguments |= set(log.read_text().splitlines())
            log.unlink()

    def look(self) -> None:
        """Read every file that is there by now."""
        for path in self.home.rglob("*"):
            if not path.is_symlink() and path.exists():
                name = path.relative_to(self.home).as_posix()
                self.modes[name] = stat.S_IMODE(path.stat().st_mode)
                if path.is_file() and path.suffix != ".pyc":
                    self.texts[name] = self.texts.get(name, b"") + path.read_bytes()

    def _watch(self, done: threading.Event) -> None:
        mark = str(self.home).encode()
        while not done.wait(0.05):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if mark in (process / "environ").read_bytes():
                        said = (process / "cmdline").read_bytes()
                        self.arguments.add(said.replace(b"\0", b" ").decode(errors="replace"))
                except OSError:
                    continue


def _record_arguments(line: CommandLine) -> None:
    """Put programs of the same names first that say what they are called with, then become the real ones."""
    line.run("sandbox", "start")
    log = shlex.quote(str(line.home / "arguments.log"))
    for tool in TOOLS:
        real = shutil.which(tool, path=line.environ["PATH"])
        assert real is not None
        program = line.world / "bin" / tool
        program.write_text(f'#!/bin/sh\necho "{tool} $*" >>{log}\nexec {shlex.quote(real)} "$@"\n')
        program.chmod(0o700)


@dataclass
class Recorded:
    """What was called, by use and program; what stacks were made of; and what could be seen from outside."""

    evidence: Evidence
    called: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)

    def add(self, use: str, calls: list[dict[str, Any]]) -> None:
        for one in calls:
            action = f"{PREFIXES.get(one['service'], one['service'])}:{one['action']}"
            self.called.setdefault((use, one["agent"]), set()).add(action)

    def of(self, agent: str, *uses: str) -> set[str]:
        return {action for use in uses for action in self.called.get((use, agent), set())} - FREE

    def by_stacks(self, use: str) -> set[str]:
        """What CloudFormation does under the caller's permissions; a rollback also removes."""
        tables = (MAKING, REMOVING) if use == "deploy" else (REMOVING,)
        return {action for table in tables for one in self.types for action in table[one].split()}


# --- the recording


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """A cluster that is planned, made with a failure on the way, mended, looked at, and removed with what it left."""
    home = tmp_path_factory.mktemp("home")
    found = Recorded(Evidence(home))
    keys = {"AWS_ACCESS_KEY_ID": "AKIACANARY0000000000", "AWS_SECRET_ACCESS_KEY": CANARIES[0]}
    with command_line(home, **keys, AWS_SESSION_TOKEN=CANARIES[1]) as line:
        with found.evidence.watched(line):
            for part in (_plan, _deploy, _look, _teardown):
                part(line, found)
                found.evidence.look()
        yield found


def _plan(line: CommandLine, found: Recorded) -> None:
    line.run("probe", "--no-probe", "--all-regions")
    line.run("deploy-all", "--plan")
    line.run("doctor", "-o", "json")
    found.add("plan", line.calls())


def _deploy(line: CommandLine, found: Recorded) -> None:
    line.run("sandbox", "fault", "--on", "eksctl:create-nodegroup", "--outcome", "rollback", "--times", "1")
    line.run("deploy-all", "--yes", "--ttl", "4h")
    found.add("deploy", line.calls())
    line.client("eks").delete_addon(clusterName="training", addonName="kube-proxy")
    stack = line.client("cloudformation").describe_stack_resources
    for name in ("eksctl-training-cluster", "eksctl-training-nodegroup-gpu"):
        found.types |= {one["ResourceType"].removeprefix("AWS::") for one in stack(StackName=name)["StackResources"]}
    line.calls()
    line.run("cluster", "--yes")
    line.run("extend", "8h")
    found.add("deploy", line.calls())


def _look(line: CommandLine, found: Recorded) -> None:
    for command in (
        ["status"],
        ["verify"],
        ["nodegroup", "--plan"],
        ["teardown", "--plan"],
        ["reap", "-r", "us-east-2", "--plan"],
    ):
        line.run(*command)
    found.add("plan", line.calls())


def _teardown(line: CommandLine, found: Recorded) -> None:
    line.run("teardown", "--yes")
    found.add("teardown", line.calls())
    plant(line.client)
    line.calls()
    line.run("teardown", "--plan")
    found.add("plan", line.calls())
    line.run("reap", "-r", "us-east-2", "--yes")
    line.run("teardown", "--yes", "--purge-volumes")
    found.add("teardown", line.calls())


# --- what the recording says of the policies


def missing(found: Recorded, policies: dict[str, Any]) -> list[str]:
    """What a use calls and its policies do not allow; ours must do without those of eksctl."""
    lacking = []
    for use, names in USES.items():
        whole = {action for name in names for action in actions(name, policies)}
        own = {action for name in names if name not in EKSCTL for action in actions(name, policies)}
        needed = found.of("eksctl", use) | (found.by_stacks(use) if use != "plan" else set())
        lacking += [f"{use}: {one}" for one in sorted(found.of("clusterctl", use) - own)]
        lacking += [f"{use}, through eksctl: {one}" for one in sorted(needed - whole)]
    return lacking


def unused(found: Recorded, policies: dict[str, Any]) -> list[str]:
    """What a policy allows, nobody called, and the page does not explain."""
    uses: dict[str, set[str]] = {
        "plan": found.of("clusterctl", "plan", "deploy", "teardown"),
        "deploy": found.of("clusterctl", "deploy"),
        "teardown": found.of("clusterctl", "teardown"),
        "eksctl-deploy": found.of("eksctl", "deploy") | found.by_stacks("deploy"),
        "eksctl-teardown": found.of("eksctl", "teardown") | found.by_stacks("teardown"),
    }
    reasons = explained()
    return [
        f"{name}: {action}"
        for name in policies
        for action in sorted(actions(name, policies) - uses[name])
        if (name, action) not in reasons
    ]


def changed(name: str, change: Callable[[list[str]], list[str]]) -> dict[str, Any]:
    """The policies with the actions of one statement of one policy changed."""
    copy = json.loads(json.dumps(POLICIES))
    statement = copy[name]["Statement"][0]
    statement["Action"] = change(statement["Action"])
    return dict(copy)


def test_every_action_that_was_called_is_allowed_in_its_use(recorded: Recorded) -> None:
    assert missing(recorded, POLICIES) == []


def test_every_action_that_is_allowed_was_called_or_is_explained(recorded: Recorded) -> None:
    assert unused(recorded, POLICIES) == []


def test_what_is_explained_is_allowed_and_was_not_called(recorded: Recorded) -> None:
    reasons = explained()
    assert reasons
    assert [key for key in reasons if key[1] not in actions(key[0])] == []
    without = {key: why for key, why in reasons.items() if key[0] == "plan"}
    assert {action for _, action in without} & recorded.of("clusterctl", "plan", "deploy", "teardown") == set()


@pytest.mark.parametrize("name", POLICIES)
def test_an_action_that_is_taken_out_of_a_policy_is_missed(recorded: Recorded, name: str) -> None:
    first = POLICIES[name]["Statement"][0]["Action"][0]
    poorer = {
        one: {"Statement": [{"Action": [a for a in s["Action"] if a != first]} for s in document["Statement"]]}
        for one, document in POLICIES.items()
    }
    assert any(line.endswith(first) for line in missing(recorded, poorer))


@pytest.mark.parametrize("name", POLICIES)
def test_an_action_that_nobody_calls_is_found_in_a_policy(recorded: Recorded, name: str) -> None:
    richer = changed(name, lambda allowed: [*allowed, "ec2:ModifyVolume"])
    assert unused(recorded, richer) == [f"{name}: ec2:ModifyVolume"]


def test_a_plan_and_a_look_change_nothing(recorded: Recorded) -> None:
    reading = ("Describe", "Get", "List", "Simulate")
    assert [one for one in recorded.of("clusterctl", "plan") if not one.split(":")[1].startswith(reading)] == []
    assert recorded.of("eksctl", "plan") == set()


def test_the_table_of_stacks_covers_what_stacks_are_made_of(recorded: Recorded) -> None:
    assert recorded.types == set(MAKING) == set(REMOVING)


# --- secrets


def holding(texts: dict[str, str]) -> list[str]:
    """Where one of the secrets stands."""
    return [f"{name}: {secret}" for name, text in texts.items() for secret in SECRETS if secret in text]


def test_no_file_of_a_run_holds_a_secret(recorded: Recorded) -> None:
    texts = {name: text.decode(errors="replace") for name, text in recorded.evidence.texts.items()}
    assert {".placement.env", "sandbox/aws.log", "sandbox/kube.log"} <= set(texts)
    assert any(name.startswith("sandbox/client/kubeconfigs/") for name in texts)
    assert holding(texts) == []


def test_nothing_that_is_printed_holds_a_secret(recorded: Recorded) -> None:
    assert any('"schema"' in one for one in recorded.evidence.printed)
    assert holding({one[:200]: one for one in recorded.evidence.printed}) == []


def test_no_argument_of_any_process_holds_a_secret(recorded: Recorded) -> None:
    seen = recorded.evidence.arguments
    for program in ("clusterctl deploy-all", "kubectl get", "helm upgrade", "eksctl create cluster", "sandbox.cloud"):
        assert any(program in one for one in seen), program
    assert holding({one[:200]: one for one in seen}) == []


def test_files_are_for_their_owner_alone(recorded: Recorded) -> None:
    caches = ("sandbox/client/kube/",)  # of kubectl and helm, inside a folder that is closed
    open_ones = {
        name: oct(mode) for name, mode in recorded.evidence.modes.items()
        if mode & 0o077 and not name.startswith(caches) and name != "arguments.log"
    }  # fmt: skip
    assert open_ones == {}
    assert recorded.evidence.modes["sandbox"] == recorded.evidence.modes["sandbox/client"] == 0o700
    assert recorded.evidence.modes["sandbox/client/kube"] == 0o700


def test_a_secret_in_any_of_these_places_would_be_found() -> None:
    assert holding({"a log": f"token {TOKEN}aHR0cHM", "clean": "nothing"}) == [f"a log: {TOKEN}"]
