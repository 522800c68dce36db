"""Turns what boto3 raises into our errors, at the edge: the code and the request id always stay with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as botocore_errors
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from clusterctl.errors import (
    AccessError,
    CapacityUnavailableError,
    ClusterctlError,
    QuotaTooSmallError,
)
from clusterctl.model.failures import Cause, Failure, Remedy, Scope, classify

AwsFault = ClientError | BotoCoreError | ResponseParserError
AWS_FAULTS = (ClientError, BotoCoreError, ResponseParserError)  # what boto3 raises when a call fails

_NO_CREDENTIALS = (
    botocore_errors.NoCredentialsError,
    botocore_errors.PartialCredentialsError,
    botocore_errors.CredentialRetrievalError,
    botocore_errors.ProfileNotFound,
    botocore_errors.TokenRetrievalError,
    botocore_errors.SSOError,
)
_UNHEARD = (
    botocore_errors.HTTPClientError,
    botocore_errors.EndpointConnectionError,
    ResponseParserError,
    botocore_errors.IncompleteReadError,
)
_KINDS: dict[Cause, type[ClusterctlError]] = {
    Cause.CAPACITY: CapacityUnavailableError,
    Cause.QUOTA: QuotaTooSmallError,
    Cause.CREDENTIALS: AccessError,
    Cause.DENIED: AccessError,
    Cause.ACCOUNT: AccessError,
}
_HINTS = {
    Cause.CREDENTIALS: "log in again (aws sso login, or fresh keys in the environment), then: clusterctl doctor",
    Cause.DENIED: "clusterctl doctor lists the permissions that are missing",
    Cause.ACCOUNT: "AWS must open the account or the region first: see the message, then try again",
    Cause.THROTTLED: "AWS asks for fewer calls; run the command again in a minute",
    Cause.TRANSIENT: "AWS did not answer; check the network, then run the command again",
}


def code_of(fault: AwsFault) -> str:
    """AWS's error code, or the name of the exception where no answer came at all."""
    if isinstance(fault, ClientError):
        return str(fault.response.get("Error", {}).get("Code", ""))
    return type(fault).__name__


def failure_of(fault: AwsFault) -> Failure:
    """What a fault means. A call that got no answer is transient; credentials that cannot be had are just that."""
    code = code_of(fault)
    if isinstance(fault, ClientError):
        message = str(fault.response.get("Error", {}).get("Message", ""))
        failure = classify(code, message)
        return _transient(code, message) if failure.cause is Cause.UNKNOWN and status_of(fault) >= 500 else failure
    if isinstance(fault, _NO_CREDENTIALS):
        return Failure(Cause.CREDENTIALS, Scope.ACCOUNT, Remedy.STOP, code, str(fault))
    if isinstance(fault, _UNHEARD):
        return _transient(code, str(fault))
    return classify(code, str(fault))


def status_of(fault: AwsFault) -> int:
    """The HTTP status of the answer, 0 where none came."""
    if not isinstance(fault, ClientError):
        return 0
    return int(fault.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def translate(fault: AwsFault, doing: str = "") -> ClusterctlError:
    """The error to raise for a fault. `doing` says what was tried, as in "list clusters in us-east-2"."""
    failure = failure_of(fault)
    kind = _KINDS.get(failure.cause, ClusterctlError)
    said = failure.message or failure.code or "no reason given"
    message = f"cannot {doing}: {said}" if doing else said
    return kind(message, hint=_HINTS.get(failure.cause, ""), details=details_of(fault))


def details_of(fault: AwsFault) -> str:
    """The call, its code and its request id."""
    if not isinstance(fault, ClientError):
        return f"{type(fault).__name__}: {fault}"
    request_id = fault.response.get("ResponseMetadata", {}).get("RequestId", "none")
    return f"{fault.operation_name}: {code_of(fault)} (HTTP {status_of(fault)}), request id {request_id}"


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Within it, what boto3 raises comes out as a ClusterctlError."""
    try:
        yield
    except AWS_FAULTS as fault:
        raise translate(fault, doing) from fault


def _transient(code: str, message: str) -> Failure:
    return Failure(Cause.TRANSIENT, Scope.CALL, Remedy.RETRY, code, message, 60)
