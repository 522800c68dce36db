"""What the policies of docs/iam say by themselves, and what the page says of them."""

from __future__ import annotations

import ast
import json
import re
from fnmatch import fnmatchcase
from functools import cache

import pytest
from botocore import xform_name
from botocore.loaders import Loader

from clusterctl.adapters.aws.session import EC2_ACTIONS
from clusterctl.model.cluster import TAG_CLUSTER, TAG_RUN
from clusterctl.model.leftovers import mark_keys
from clusterctl.rendering.policies import USES, policy, policy_file
from policy_files import EKSCTL, FOLDER, FREE, PAGE, POLICIES, PREFIXES, ROOT, actions

MOST_CHARACTERS = 6144  # of a managed policy, white space not counted (IAM's quota)


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
    assert allowed - {action for one in in_adapters() for action in one} == set()


def test_of_ec2_exactly_the_actions_that_are_called_are_loaded() -> None:
    called = {action for one in in_adapters() for action in one if action.startswith("ec2:")}
    assert {f"ec2:{name}" for name in EC2_ACTIONS} == called


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
