"""The policies of docs/iam allow what the commands call, each in its use, and nothing beyond that."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.loaders import Loader

from cli_sandbox import CommandLine, command_line
from clusterctl.model.cluster import TAG_CLUSTER, TAG_RUN
from clusterctl.model.leftovers import mark_keys
from clusterctl.rendering.policies import USES, policy, policy_file
from leftover_seeds import plant
from stack_actions import MAKING, REMOVING

pytestmark = pytest.mark.timeout(900)  # the recording is many commands, and the machine may be starved
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "iam"
PAGE = (ROOT / "docs" / "permissions.md").read_text(encoding="utf-8")
POLICIES = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}
MOST_CHARACTERS = 6144  # of a managed policy, white space not counted (IAM's quota)
FREE = {"sts:GetCallerIdentity"}  # needs no permission
EKSCTL = {"eksctl-deploy", "eksctl-teardown"}
PREFIXES = {"elb": "elasticloadbalancing", "elbv2": "elasticloadbalancing", "service-quotas": "servicequotas"}


@dataclass
class Recorded:
    """What was called, by use and program; and what stacks were made of."""

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


def actions(name: str, policies: dict[str, Any] = POLICIES) -> set[str]:
    return {action for statement in policies[name]["Statement"] for action in statement["Action"]}


def explained() -> dict[tuple[str, str], str]:
    """(policy, action) -> why it is allowed though no rehearsal calls it."""
    rows = re.findall(r"^\| `([\w-]+)` \| ((?:`[\w:]+`,? ?)+) \| (.+) \|$", PAGE, re.MULTILINE)
    return {(name, action): why for name, listed, why in rows for action in re.findall(r"`([\w:]+)`", listed)}


# --- the recording


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """A cluster that is planned, made with a failure on the way, mended, looked at, and removed with what it left."""
    found = Recorded()
    with command_line(tmp_path_factory.mktemp("home")) as line:
        _plan(line, found)
        _deploy(line, found)
        _look(line, found)
        _teardown(line, found)
        yield found


def _plan(line: CommandLine, found: Recorded) -> None:
    line.run("probe", "--no-probe", "--all-regions")
    line.run("deploy-all", "--plan")
    line.run("doctor")
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
    found.add("deploy", line.calls())


def _look(line: CommandLine, found: Recorded) -> None:
    for command in (["status"], ["verify"], ["nodegroup", "--plan"], ["teardown", "--plan"]):
        line.run(*command)
    found.add("plan", line.calls())


def _teardown(line: CommandLine, found: Recorded) -> None:
    line.run("teardown", "--yes")
    found.add("teardown", line.calls())
    plant(line.client)
    line.calls()
    line.run("teardown", "--plan")
    found.add("plan", line.calls())
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


@pytest.mark.slow
def test_every_action_that_was_called_is_allowed_in_its_use(recorded: Recorded) -> None:
    assert missing(recorded, POLICIES) == []


@pytest.mark.slow
def test_every_action_that_is_allowed_was_called_or_is_explained(recorded: Recorded) -> None:
    assert unused(recorded, POLICIES) == []


@pytest.mark.slow
def test_what_is_explained_is_allowed_and_was_not_called(recorded: Recorded) -> None:
    reasons = explained()
    assert reasons
    assert [key for key in reasons if key[1] not in actions(key[0])] == []
    without = {key: why for key, why in reasons.items() if key[0] == "plan"}
    assert {action for _, action in without} & recorded.of("clusterctl", "plan", "deploy", "teardown") == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_an_action_that_is_taken_out_of_a_policy_is_missed(recorded: Recorded, name: str) -> None:
    first = POLICIES[name]["Statement"][0]["Action"][0]
    poorer = {
        one: {"Statement": [{"Action": [a for a in s["Action"] if a != first]} for s in document["Statement"]]}
        for one, document in POLICIES.items()
    }
    assert any(line.endswith(first) for line in missing(recorded, poorer))


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_an_action_that_nobody_calls_is_found_in_a_policy(recorded: Recorded, name: str) -> None:
    richer = changed(name, lambda allowed: [*allowed, "ec2:ModifyVolume"])
    assert unused(recorded, richer) == [f"{name}: ec2:ModifyVolume"]


@pytest.mark.slow
def test_a_plan_and_a_look_change_nothing(recorded: Recorded) -> None:
    reading = ("Describe", "Get", "List", "Simulate")
    assert [one for one in recorded.of("clusterctl", "plan") if not one.split(":")[1].startswith(reading)] == []
    assert recorded.of("eksctl", "plan") == set()


@pytest.mark.slow
def test_the_table_of_stacks_covers_what_stacks_are_made_of(recorded: Recorded) -> None:
    assert recorded.types == set(MAKING) == set(REMOVING)


# --- what the policies say by themselves


@cache
def operations(service: str) -> dict[str, str]:
    """A service's methods in boto3, and the actions that IAM knows them by."""
    found = Loader().load_service_model(service, "service-2")["operations"]
    return {xform_name(name): f"{PREFIXES.get(service, service)}:{name}" for name in found}


def words() -> set[str]:
    """Every attribute and string in the adapters: methods are called by one or the other."""
    files = (ROOT / "src" / "clusterctl" / "adapters" / "aws").glob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    called = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return called | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def in_adapters() -> list[set[str]]:
    """For each method that the adapters name, the actions that it may be."""
    said = words()
    services = [name for name in Loader().list_available_services("service-2") if name in said]
    assert {"ec2", "eks", "iam", "elbv2"} <= set(services)
    methods = {method for service in services for method in operations(service) if method in said}
    return [
        {operations(service)[method] for service in services if method in operations(service)} for method in methods
    ]


def test_every_method_that_the_adapters_name_is_allowed() -> None:
    allowed = {action for name in POLICIES if name not in EKSCTL for action in actions(name)}
    assert [one for one in in_adapters() if not one & (allowed | FREE)] == []


def test_nothing_is_allowed_that_the_adapters_do_not_name() -> None:
    allowed = {action for name in POLICIES if name not in EKSCTL for action in actions(name)}
    assert allowed - {action for one in in_adapters() for action in one} == {"ec2:CreateTags"}


def test_every_action_exists() -> None:
    known = {
        action
        for service in Loader().list_available_services("service-2")
        if PREFIXES.get(service, service) in {one.split(":")[0] for name in POLICIES for one in actions(name)}
        for action in operations(service).values()
    }
    unknown = {one for name in POLICIES for one in actions(name)} - known
    assert unknown == {"iam:PassRole", "cloudformation:TagResource"}  # permissions without a call of their own


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_fits_into_one_and_says_what_each_statement_is_for(name: str) -> None:
    document = POLICIES[name]
    assert len(re.sub(r"\s", "", json.dumps(document))) <= MOST_CHARACTERS
    sids = [one["Sid"] for one in document["Statement"]]
    assert len(set(sids)) == len(sids)
    section = re.search(rf"^### {name}\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert re.findall(r"^\| `(\w+)` \|", section[1], re.MULTILINE) == sids


@pytest.mark.parametrize("name", POLICIES)
def test_whatever_changes_something_has_a_resource_or_a_condition(name: str) -> None:
    reading = ("Describe", "Get", "List", "Simulate")
    bare = [
        action
        for one in POLICIES[name]["Statement"] if one["Resource"] == "*" and "Condition" not in one
        for action in one["Action"] if not action.split(":")[1].startswith(reading)
    ]  # fmt: skip
    making_network = {one for one in actions("eksctl-deploy") if fnmatchcase(one, "ec2:[ACM]*")}
    assert set(bare) <= (making_network if name == "eksctl-deploy" else set())


def test_conditions_on_tags_name_tags_that_are_set() -> None:
    ours = {TAG_RUN, TAG_CLUSTER, "clusterctl:purpose"}
    known = ours | set(mark_keys("training")) | {"aws:eks:cluster-name"}
    named = {
        key.partition("/")[2]
        for document in POLICIES.values() for one in document["Statement"]
        for keys in one.get("Condition", {}).values() for key in keys if "Tag/" in key
    }  # fmt: skip
    assert ours <= named
    assert named <= known


def test_uses_name_every_policy_and_the_page_shows_which_to_attach() -> None:
    assert {name for names in USES.values() for name in names} == set(POLICIES)
    assert policy_file("plan") == FOLDER / "plan.json"
    assert len(policy("plan")) == len(POLICIES["plan"]["Statement"])
    for names in USES.values():
        assert ", ".join(f"[{name}](iam/{name}.json)" for name in names) in PAGE
