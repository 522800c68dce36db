"""What a policy grants, and with which words IAM's simulator is asked about it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ASSUMED = re.compile(r"arn:([\w-]+):sts::(\d+):assumed-role/([^/]+)/.+")
_TRUTH = {"true": "", "false": "present"}  # Null: is the key absent?


@dataclass(frozen=True, slots=True)
class Grant:
    """One statement that allows: actions on resources, under conditions (operator, key, values)."""

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: tuple[tuple[str, str, tuple[str, ...]], ...] = ()

    @property
    def context(self) -> dict[str, str]:
        """A value for each condition key with which the statement's own conditions hold."""
        return {key: _value(operator, values) for operator, key, values in self.conditions}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls, as IAM's simulator wants it. `role` is set where its path, and so its ARN, is still to be asked."""

    arn: str
    role: str = ""

    @property
    def is_root(self) -> bool:
        return self.arn.endswith(":root")

    @property
    def can_be_simulated(self) -> bool:
        return bool(self.role) or ":user/" in self.arn or ":role/" in self.arn


def read_policy(document: Mapping[str, Any]) -> tuple[Grant, ...]:
    """The statements of a policy document, in its order."""
    return tuple(_grant(one) for one in document["Statement"])


def principal_of(caller_arn: str) -> Principal:
    """The IAM principal behind what STS says of the caller: a session's ARN names its role without the path."""
    session = _ASSUMED.fullmatch(caller_arn)
    if session is None:
        return Principal(caller_arn)
    partition, account, role = session.groups()
    return Principal(f"arn:{partition}:iam::{account}:role/{role}", role)


def example_arn(pattern: str, partition: str, region: str, account: str) -> str:
    """A resource that a pattern of our policies matches; `*` alone stays."""
    if pattern == "*":
        return pattern
    parts = pattern.split(":", 5)
    for position, value in ((1, partition), (3, region), (4, account)):
        parts[position] = value if parts[position] == "*" else parts[position]
    return ":".join([*parts[:5], parts[5].replace("*", "example")])


def _grant(statement: Mapping[str, Any]) -> Grant:
    conditions = tuple(
        (operator, key, _words(values))
        for operator, keys in statement.get("Condition", {}).items()
        for key, values in keys.items()
    )
    return Grant(statement["Sid"], _words(statement["Action"]), _words(statement["Resource"]), conditions)


def _value(operator: str, values: Sequence[str]) -> str:
    return _TRUTH[values[0]] if operator == "Null" else values[0].replace("*", "example")


def _words(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
