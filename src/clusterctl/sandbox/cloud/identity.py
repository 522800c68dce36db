"""Who the caller is: the sandbox's one user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.core.responses import ActionResult
from moto.sts.responses import TokenResponse

from clusterctl.sandbox.cloud.extension import Extension, bound_to

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.world import World

USER_ID = "AIDASANDBOXSANDBOX00"


def user_arn(account_id: str) -> str:
    """The sandbox's one user."""
    return f"arn:aws:iam::{account_id}:user/sandbox"


class IdentityResponse(TokenResponse):  # type: ignore[misc]
    """moto's STS, under the name of the sandbox's user."""

    world: World

    def get_caller_identity(self) -> ActionResult:
        account = self.world.account_id
        return ActionResult({"UserId": USER_ID, "Account": account, "Arn": user_arn(account)})


def extension(world: World) -> Extension:
    """STS for this world."""
    handler = bound_to(world, IdentityResponse).dispatch
    return Extension(name="sts", url_paths={"sts": {"{0}/$": handler}}, preload=("sts",))
