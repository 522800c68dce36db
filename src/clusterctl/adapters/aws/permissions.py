"""Asks IAM's simulator what the caller may do. It changes nothing, and answers for the caller's own policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clusterctl.adapters.aws.faults import translated
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.errors import AccessError
from clusterctl.model.permissions import Grant, example_arn, principal_of
from clusterctl.ports import Identity

_TYPES = {"aws:TagKeys": "stringList"}


class PermissionCheck:
    """One caller's permissions, in one region. Raises AccessError where the simulator may not be asked."""

    def __init__(self, session: AwsSession, identity: Identity, region: str) -> None:
        self._iam = session.client("iam")
        self._identity = identity
        self._region = region
        self._principal = principal_of(identity.arn)

    def denied(self, grants: Sequence[Grant]) -> tuple[str, ...]:
        """The actions of these statements that the caller may not use, each once."""
        if self._principal.is_root:
            return ()
        if not self._principal.can_be_simulated:
            raise AccessError(f"IAM cannot tell what {self._principal.arn} may do, which is neither a role nor a user")
        with translated("ask IAM what this caller may do"):
            arn = self._arn()
            found = [action for grant in grants for action in self._denied(arn, grant)]
        return tuple(dict.fromkeys(found))

    def _arn(self) -> str:
        """A role's ARN with its path, which a session's ARN leaves out."""
        if not self._principal.role:
            return self._principal.arn
        return str(self._iam.get_role(RoleName=self._principal.role)["Role"]["Arn"])

    def _denied(self, arn: str, grant: Grant) -> Iterator[str]:
        identity = self._identity
        resource = example_arn(grant.resources[0], identity.partition, self._region, identity.account_id)
        pages = self._iam.get_paginator("simulate_principal_policy").paginate(
            PolicySourceArn=arn,
            ActionNames=list(grant.actions),
            ResourceArns=[resource],
            ContextEntries=[
                {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": _TYPES.get(key, "string")}
                for key, value in grant.context.items()
            ],
        )
        for one in (result for page in pages for result in page["EvaluationResults"]):
            if not _allowed(one):
                yield one["EvalActionName"]


def _allowed(result: dict[str, Any]) -> bool:
    by_organization = result.get("OrganizationsDecisionDetail", {}).get("AllowedByOrganizations", True)
    return result["EvalDecision"] == "allowed" and bool(by_organization)
