"""IAM's policy simulator: the one user may do everything, save what a fault of the scenario denies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.iam.responses import IamResponse

from clusterctl.sandbox.cloud.extension import Extension, bound_to
from clusterctl.sandbox.cloud.identity import user_arn

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.world import World
    from clusterctl.sandbox.scenario import Fault

_DENIALS = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"})
_SERVICES = {"servicequotas": "service-quotas"}  # IAM's name of a service -> the one that faults use


class SimulatingResponse(IamResponse):  # type: ignore[misc]
    """moto's IAM with SimulatePrincipalPolicy."""

    world: World

    def simulate_principal_policy(self) -> ActionResult:
        known = user_arn(self.world.account_id)
        if self._get_param("PolicySourceArn") != known:
            raise ServiceException("NoSuchEntity", f"The only principal of this account is {known}.")
        resources = self._get_param("ResourceArns") or ["*"]
        rows = [self._row(action, one) for action in self._get_param("ActionNames") for one in resources]
        return ActionResult({"EvaluationResults": rows, "IsTruncated": False})

    def _row(self, action: str, resource: str) -> dict[str, Any]:
        service, _, name = action.partition(":")
        fault = self.world.faults.peek(f"{_SERVICES.get(service, service)}:{name}")
        return {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": _decision(fault)}


def _decision(fault: Fault | None) -> str:
    if fault is None or fault.error not in _DENIALS:
        return "allowed"
    return "explicitDeny" if "explicit deny" in (fault.message or "") else "implicitDeny"


def extension(world: World) -> Extension:
    """IAM for this world."""
    handler = bound_to(world, SimulatingResponse).dispatch
    return Extension(name="permissions", url_paths={"iam": {"{0}/$": handler}}, preload=("iam",))
