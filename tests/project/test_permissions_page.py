"""The policy allows what the adapters call, and nothing that they do not; of EC2 nothing else is loaded either."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

from botocore import xform_name
from botocore.loaders import Loader

from clusterctl.adapters.aws.session import EC2_ACTIONS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "permissions.md").read_text(encoding="utf-8")
POLICY = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
ALLOWED = {action for statement in POLICY["Statement"] for action in statement["Action"]}
PREFIXES = {  # botocore's name of a service -> IAM's
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "service-quotas": "servicequotas",
}
FREE = {"sts:GetCallerIdentity"}  # needs no permission


@cache
def actions(service: str) -> dict[str, str]:
    """A service's methods in boto3, and the actions that IAM knows them by."""
    operations = Loader().load_service_model(service, "service-2")["operations"]
    prefix = PREFIXES.get(service, service)
    return {xform_name(name): f"{prefix}:{name}" for name in operations}


def words() -> set[str]:
    """Every attribute and string in the adapters: methods are called by one or the other."""
    files = (ROOT / "src" / "clusterctl" / "adapters" / "aws").glob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    called = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return called | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def called() -> list[set[str]]:
    """For each method that the adapters name, the actions that it may be."""
    said = words()
    services = [name for name in Loader().list_available_services("service-2") if name in said]
    assert {"ec2", "eks", "iam", "elbv2"} <= set(services)
    methods = {method for service in services for method in actions(service) if method in said}
    return [{actions(service)[method] for service in services if method in actions(service)} for method in methods]


def test_every_action_that_is_called_is_allowed() -> None:
    assert [one for one in called() if not one & (ALLOWED | FREE)] == []


def test_nothing_is_allowed_that_is_never_called() -> None:
    assert ALLOWED - {action for one in called() for action in one} == set()


def test_of_ec2_exactly_the_actions_that_are_called_are_loaded() -> None:
    assert {f"ec2:{name}" for name in EC2_ACTIONS} == {action for one in called() for action in one if "ec2:" in action}


def test_each_statement_is_explained_and_names_an_action_once() -> None:
    for statement in POLICY["Statement"]:
        assert f"`{statement['Sid']}`" in PAGE
        assert len(set(statement["Action"])) == len(statement["Action"])
