"""What the API refuses, in the words of a real kube-apiserver: kubectl and helm show and parse them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.sandbox.kube.api.resources import Resource

NO_SUCH_RESOURCE = "the server could not find the requested resource"


class StatusError(Exception):
    """A refusal that is answered as a `Status` object."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def to_status(self) -> dict[str, Any]:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({} if self.details is None else {"details": self.details}),
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that is wrong; `reason` is one of apimachinery's FieldValue… words."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def to_json(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.message, "field": self.field}


def required(field: str, why: str = "") -> Cause:
    return Cause("FieldValueRequired", field, f"Required value: {why}" if why else "Required value")


def wrong(field: str, value: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", field, f"Invalid value: {value}: {why}")


def not_found(resource: Resource, name: str) -> StatusError:
    message = f'{resource.qualified_name} "{name}" not found'
    return StatusError(404, "NotFound", message, _details(resource, name))


def no_such_resource() -> StatusError:
    return StatusError(404, "NotFound", NO_SUCH_RESOURCE, {})


def already_exists(resource: Resource, name: str) -> StatusError:
    message = f'{resource.qualified_name} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, _details(resource, name))


def modified(resource: Resource, name: str) -> StatusError:
    message = (
        f'Operation cannot be fulfilled on {resource.qualified_name} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return StatusError(409, "Conflict", message, _details(resource, name))


def precondition_failed(resource: Resource, name: str, given: str, actual: str) -> StatusError:
    message = (
        f'Operation cannot be fulfilled on {resource.qualified_name} "{name}": Precondition failed: '
        f"UID in precondition: {given}, UID in object meta: {actual}"
    )
    return StatusError(409, "Conflict", message, _details(resource, name))


def forbidden(resource: Resource, name: str, why: str) -> StatusError:
    message = f'{resource.qualified_name} "{name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", message, _details(resource, name))


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def expired(given: str, oldest: int) -> StatusError:
    return StatusError(410, "Expired", f"too old resource version: {given} ({oldest})")


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return StatusError(415, "UnsupportedMediaType", message)


def internal(message: str) -> StatusError:
    return StatusError(500, "InternalError", f"Internal error occurred: {message}")


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> StatusError:
    text = str(causes[0]) if len(causes) == 1 else "[" + ", ".join(map(str, causes)) + "]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {**_details(resource, name), "kind": resource.kind, "causes": [c.to_json() for c in causes]}
    return StatusError(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details)


def _details(resource: Resource, name: str) -> dict[str, Any]:
    return {"name": name, "kind": resource.plural, **({"group": resource.group} if resource.group else {})}
