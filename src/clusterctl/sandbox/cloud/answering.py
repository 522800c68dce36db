"""What the answers of our own services share: errors in AWS's terms, and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from moto.core.exceptions import ServiceException
from moto.core.responses import BaseResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.sandbox.cloud.site import Site
    from clusterctl.sandbox.cloud.world import World

T = TypeVar("T")


class RefusedError(ServiceException):  # type: ignore[misc]
    """An error of one of our services; moto seeks the service of its own classes in their module's name."""


def refusal(code: str, message: str, **members: Any) -> Exception:
    """An AWS error; `members` are the further fields of its shape."""
    error: Exception = RefusedError(code, message)
    for name, value in members.items():
        setattr(error, name, value)
    return error


def page(rows: Sequence[T], token: str | None, limit: int) -> tuple[list[T], str | None]:
    """One page of rows, and the token of the next."""
    start = int(token) if token and token.isdigit() else 0
    end = start + limit
    return list(rows[start:end]), (str(end) if end < len(rows) else None)


class OwnResponse(BaseResponse):  # type: ignore[misc]
    """A service answered by the sandbox itself; parameters come parsed by botocore's model."""

    world: World
    service: str

    def __init__(self) -> None:
        super().__init__(service_name=self.service)
        self.automated_parameter_parsing = True

    @property
    def site(self) -> Site:
        from clusterctl.sandbox.cloud.site import Site

        return Site(self.world, self.region)
