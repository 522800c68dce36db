"""CloudFormation templates: declarations, their order, and the intrinsic functions that eksctl uses."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from clusterctl.sandbox.state import ACCOUNT_ID

NO_VALUE = object()
_PLACEHOLDER = re.compile(r"\$\{([^!}][^}]*)\}")


class TemplateError(Exception):
    """A template that CloudFormation would refuse; the text is AWS's own."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One resource of a template. `rehearsal` comes from its metadata: a fault that it acts out."""

    logical_id: str
    type: str
    properties: dict[str, Any]
    needs: frozenset[str]
    rehearsal: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template: resources with what each one waits for, outputs and mappings."""

    body: str
    description: str
    resources: dict[str, Declaration]
    outputs: dict[str, dict[str, Any]]
    mappings: dict[str, Any]

    @classmethod
    def parse(cls, body: str) -> Template:
        """Read JSON. Raises TemplateError."""
        try:
            data = json.loads(body)
        except ValueError as problem:
            raise TemplateError(f"Template format error: JSON not well-formed. ({problem})") from problem
        declared = data.get("Resources") or {}
        if not declared:
            raise TemplateError("Template format error: At least one Resources member must be defined.")
        return cls(
            body=body,
            description=data.get("Description", ""),
            resources={name: _declaration(name, item, frozenset(declared)) for name, item in declared.items()},
            outputs=data.get("Outputs") or {},
            mappings=data.get("Mappings") or {},
        )


def _declaration(name: str, item: dict[str, Any], declared: frozenset[str]) -> Declaration:
    explicit = item.get("DependsOn") or []
    needs = set([explicit] if isinstance(explicit, str) else explicit)
    needs |= set(_references(item.get("Properties") or {}))
    unknown = {one for one in needs if one not in declared and not one.startswith("AWS::")}
    if unknown:
        listed = ", ".join(sorted(unknown))
        raise TemplateError(
            f"Template format error: Unresolved resource dependencies [{listed}] in the Resources block of the template"
        )
    rehearsal = (item.get("Metadata") or {}).get("Rehearsal", "")
    return Declaration(name, item["Type"], item.get("Properties") or {}, frozenset(needs & declared), rehearsal)


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for item in value for name in _references(item)]
    if not isinstance(value, dict):
        return []
    if set(value) == {"Ref"}:
        return [value["Ref"]]
    if set(value) == {"Fn::GetAtt"}:
        return [_attribute_path(value["Fn::GetAtt"])[0]]
    if set(value) == {"Fn::Sub"}:
        text = value["Fn::Sub"] if isinstance(value["Fn::Sub"], str) else value["Fn::Sub"][0]
        return [found.split(".")[0] for found in _PLACEHOLDER.findall(text)]
    return [name for item in value.values() for name in _references(item)]


def _attribute_path(value: str | list[str]) -> tuple[str, str]:
    name, _, attribute = value.partition(".") if isinstance(value, str) else (value[0], "", value[1])
    return name, attribute


@dataclass(slots=True)
class Scope:
    """What references resolve to while a stack is being made."""

    stack_name: str
    stack_id: str
    region: str
    mappings: dict[str, Any]
    physical_ids: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)

    def resolve(self, value: Any) -> Any:
        """The value with every intrinsic function replaced. Raises TemplateError."""
        if isinstance(value, list):
            items = [self.resolve(item) for item in value]
            return [item for item in items if item is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name == "Ref" or name.startswith("Fn::"):
                return self._call(name, argument)
        pairs = {key: self.resolve(item) for key, item in value.items()}
        return {key: item for key, item in pairs.items() if item is not NO_VALUE}

    def _call(self, function: str, argument: Any) -> Any:
        if function == "Ref":
            return self._reference(argument)
        if function == "Fn::GetAtt":
            return self._attribute(*_attribute_path(argument))
        if function == "Fn::Sub":
            return self._substitute(argument)
        values = self.resolve(argument)
        if function == "Fn::Join":
            return str(values[0]).join(str(part) for part in values[1])
        if function == "Fn::Select":
            return values[1][int(values[0])]
        if function == "Fn::Split":
            return values[1].split(values[0])
        if function == "Fn::FindInMap":
            return self.mappings[values[0]][values[1]][values[2]]
        raise TemplateError(f"Template error: unsupported function {function}")

    def _reference(self, name: str) -> Any:
        pseudo: dict[str, Any] = {
            "AWS::AccountId": ACCOUNT_ID,
            "AWS::Region": self.region,
            "AWS::Partition": "aws",
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::StackName": self.stack_name,
            "AWS::StackId": self.stack_id,
            "AWS::NoValue": NO_VALUE,
        }
        if name in pseudo:
            return pseudo[name]
        return self.physical_ids[name]

    def _attribute(self, name: str, attribute: str) -> str:
        try:
            return self.attributes[name][attribute]
        except KeyError as problem:
            raise TemplateError(
                f"Template error: resource {name} does not support attribute type {attribute}"
            ) from problem

    def _substitute(self, argument: str | list[Any]) -> str:
        text, extra = (argument, {}) if isinstance(argument, str) else (argument[0], self.resolve(argument[1]))

        def one(match: re.Match[str]) -> str:
            name = match.group(1)
            if name in extra:
                return str(extra[name])
            return str(self._attribute(*_attribute_path(name)) if "." in name else self._reference(name))

        return _PLACEHOLDER.sub(one, text)
