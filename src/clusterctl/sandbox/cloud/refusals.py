"""AWS errors on the wire: the body of each protocol, and EC2's own HTTP statuses, which moto does not know."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from uuid import uuid4
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.requests import AwsRequest

# From the EC2 API's table of error codes; whatever is not named here is a 400.
_EC2_STATUS = {
    "AuthFailure": 401,
    "Blocked": 403,
    "DryRunOperation": 412,
    "InsufficientAddressCapacity": 500,
    "InsufficientCapacity": 500,
    "InsufficientInstanceCapacity": 500,
    "InsufficientHostCapacity": 500,
    "InsufficientReservedInstanceCapacity": 500,
    "InsufficientVolumeCapacity": 500,
    "OptInRequired": 403,
    "RequestLimitExceeded": 503,
    "UnauthorizedOperation": 403,
}
_COMMON_STATUS = {
    "AccessDenied": 403,
    "AccessDeniedException": 403,
    "ExpiredToken": 403,
    "ExpiredTokenException": 403,
    "InternalError": 500,
    "InternalFailure": 500,
    "InternalServerError": 500,
    "InvalidClientTokenId": 403,
    "RequestExpired": 403,
    "ServerException": 500,
    "ServerInternal": 500,
    "ServiceUnavailable": 503,
    "ServiceUnavailableException": 503,
    "SignatureDoesNotMatch": 403,
    "TooManyRequestsException": 429,
    "Unavailable": 503,
    "UnrecognizedClientException": 403,
}
_MESSAGES = {
    "AccessDenied": "User: arn:aws:iam::123456789012:user/sandbox is not authorized to perform this operation.",
    "InsufficientInstanceCapacity": "Insufficient capacity.",
    "PendingVerification": (
        "Your request for accessing resources in this region is being validated, and you will not be able to "
        "launch additional resources in this region until the validation is complete."
    ),
    "RequestLimitExceeded": "Request limit exceeded.",
    "Throttling": "Rate exceeded",
    "ThrottlingException": "Rate exceeded",
    "TooManyRequestsException": "Too Many Requests",
    "UnauthorizedOperation": "You are not authorized to perform this operation.",
}
_REWRITTEN = {"content-length", "status", "x-amzn-requestid"}
_PLACEHOLDER_ID = re.compile(rb"(<[Rr]equestI[dD]>)[^<]*(</[Rr]equestI[dD]>)")
_CODE = re.compile(rb"<Code>([^<]*)</Code>")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error to be sent instead of an answer. An empty message takes AWS' usual words for the code."""

    code: str
    message: str = ""
    status: int | None = None

    @property
    def words(self) -> str:
        return self.message or _MESSAGES.get(self.code, f"The request was refused ({self.code}).")


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes over the wire; `status` as WSGI wants it ("200 OK")."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def status_code(self) -> int:
        return int(self.status.split()[0])


def status_of(code: str, service: str) -> int:
    """The HTTP status AWS gives an error code."""
    if service == "ec2" and code in _EC2_STATUS:
        return _EC2_STATUS[code]
    return _COMMON_STATUS.get(code, 400)


def render(refusal: Refusal, request: AwsRequest) -> Answer:
    status = refusal.status or status_of(refusal.code, request.service)
    request_id = str(uuid4())
    code, message = escape(refusal.code), escape(refusal.words)
    headers = [("x-amzn-RequestId", request_id), ("x-amzn-ErrorType", refusal.code)]
    if request.protocol in ("json", "rest-json"):
        body = json.dumps({"__type": refusal.code, "message": refusal.words})
        headers.append(("Content-Type", "application/x-amz-json-1.1"))
    else:
        body = _xml(request.protocol, code, message, request_id)
        headers.append(("Content-Type", "text/xml"))
    data = body.encode()
    return Answer(_status_line(status), [*headers, ("Content-Length", str(len(data)))], data)


def _xml(protocol: str, code: str, message: str, request_id: str) -> str:
    error = f"<Code>{code}</Code><Message>{message}</Message>"
    if protocol == "ec2":
        inner = f"<Errors><Error>{error}</Error></Errors><RequestID>{request_id}</RequestID>"
        return f'<?xml version="1.0" encoding="UTF-8"?><Response>{inner}</Response>'
    if protocol == "rest-xml":
        return f'<?xml version="1.0" encoding="UTF-8"?><Error>{error}</Error>'
    inner = f"<Error><Type>Sender</Type>{error}</Error><RequestId>{request_id}</RequestId>"
    return f"<ErrorResponse>{inner}</ErrorResponse>"


def error_code(answer: Answer) -> str | None:
    """The error code in an answer, or None for a success."""
    if answer.status_code < 400:
        return None
    if found := _CODE.search(answer.body):
        return found.group(1).decode()
    named = {name.lower(): value for name, value in answer.headers}.get("x-amzn-errortype")
    return named or _code_in_json(answer.body) or str(answer.status_code)


def _code_in_json(body: bytes) -> str | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    kind = found.get("__type") if isinstance(found, dict) else None
    return kind.rpartition("#")[2] if isinstance(kind, str) else None


def corrected(answer: Answer, service: str) -> Answer:
    """moto's answer with AWS' HTTP status (EC2 has a 500 for lack of capacity) and a request id of its own."""
    code = error_code(answer)
    status = answer.status
    if service == "ec2" and code in _EC2_STATUS:
        status = _status_line(_EC2_STATUS[code])
    headers = [(name, value) for name, value in answer.headers if name.lower() not in _REWRITTEN]
    request_id = str(uuid4())
    body = _PLACEHOLDER_ID.sub(rb"\g<1>" + request_id.encode() + rb"\g<2>", answer.body)
    length = ("Content-Length", str(len(body)))
    return Answer(status, [*headers, ("x-amzn-RequestId", request_id), length], body)


def _status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Error"
