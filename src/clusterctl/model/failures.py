# ruff: noqa: E501 - AWS's codes and sentences, a few to a line
"""One vocabulary for what AWS says when something cannot be had: code or text in, meaning out.

The codes and wordings come from exceptions, CloudFormation events, scaling activities and EKS health issues alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Cause(Enum):
    """Why something could not be had."""

    CAPACITY = "no-capacity"
    NOT_OFFERED = "not-offered"
    QUOTA = "quota"
    RESERVATION = "reservation"
    DENIED = "denied"
    CREDENTIALS = "credentials"
    THROTTLED = "throttled"
    ADDRESSES = "addresses"
    CONFIGURATION = "configuration"
    ACCOUNT = "account"
    JOIN = "join"
    IN_USE = "in-use"
    CANCELLED = "cancelled"
    TRANSIENT = "transient"
    UNKNOWN = "unknown"


class Scope(Enum):
    """How far the cause reaches."""

    ZONE = "zone"
    REGION = "region and market"
    ACCOUNT = "account"
    CALL = "call"


class Remedy(Enum):
    """What to do about it."""

    NEXT_ZONE = "try the next zone"
    NEXT_REGION = "try the next region"
    STOP = "stop"
    RETRY = "retry in place"
    WAIT = "wait and look again"


@dataclass(frozen=True, slots=True)
class Failure:
    """One classified failure. `zones` is EC2's own hint of other zones, `holds_s` how long it is likely to last."""

    cause: Cause
    scope: Scope
    remedy: Remedy
    code: str
    message: str
    holds_s: float = 0.0
    zones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Law:
    cause: Cause
    scope: Scope
    remedy: Remedy
    holds_s: float
    words: tuple[str, ...]


_HOUR = 3600.0
_LAWS = (  # the first that matches wins: launch failures stand before their consequences
    _Law(Cause.CAPACITY, Scope.ZONE, Remedy.NEXT_ZONE, 600, (
        "InsufficientInstanceCapacity", "UnfulfillableCapacity", "InsufficientCapacity", "InsufficientHostCapacity",
        "currently do not have sufficient", "Unable to fulfill capacity", "Insufficient capacity",
    )),
    _Law(Cause.QUOTA, Scope.REGION, Remedy.STOP, 24 * _HOUR, (
        "VcpuLimitExceeded", "InstanceLimitExceeded", "MaxSpotInstanceCountExceeded", "Max spot instance count exceeded",
        "MaxFleetCountExceeded", "your quota for maximum Fleet Requests", "more vCPU capacity than your current vCPU limit",
        "CapacityBlockDescribeLimitExceeded", "AddressLimitExceeded", "VpcLimitExceeded", "NatGatewayLimitExceeded",
        "ResourceLimitExceeded", "ServiceLimitExceeded", "IamLimitExceeded", "Ec2LaunchTemplateMaxLimitExceeded",
        "Ec2LaunchTemplateVersionMaxLimitExceeded", "maximum number of addresses has been reached", "maximum number of VPCs has been reached",
    )),
    _Law(Cause.THROTTLED, Scope.CALL, Remedy.RETRY, 30, (
        "RequestLimitExceeded", "Throttling", "TooManyRequests", "EC2ThrottledException", "SlowDown", "Rate exceeded",
        "AutoScalingGroupRateLimitExceeded", "IamThrottling",
    )),
    _Law(Cause.CREDENTIALS, Scope.ACCOUNT, Remedy.STOP, _HOUR, (
        "ExpiredToken", "InvalidClientTokenId", "UnrecognizedClient", "AuthFailure", "SignatureDoesNotMatch",
        "RequestExpired", "security token included in the request is",
    )),
    _Law(Cause.DENIED, Scope.ACCOUNT, Remedy.STOP, _HOUR, (
        "UnauthorizedOperation", "AccessDenied", "not authorized to perform", "explicit deny", "UnauthorizedException",
    )),
    _Law(Cause.ACCOUNT, Scope.REGION, Remedy.STOP, 4 * _HOUR, (
        "PendingVerification", "OptInRequired", "Blocked", "AccountDisabled", "not eligible for Free Tier",
        "still being verified",
    )),
    # behind what may be said about any call, also about ec2:CreateCapacityReservation
    _Law(Cause.RESERVATION, Scope.REGION, Remedy.STOP, _HOUR, (
        "ReservationCapacityExceeded", "InvalidCapacityReservation", "reservation",
    )),
    _Law(Cause.NOT_OFFERED, Scope.ZONE, Remedy.NEXT_ZONE, 24 * _HOUR, (
        "InvalidFleetConfiguration", "is not supported in your requested Availability Zone", "UnsupportedAvailabilityZone",
        "does not currently have sufficient capacity to support the cluster",
    )),
    _Law(Cause.ADDRESSES, Scope.ZONE, Remedy.NEXT_ZONE, _HOUR, (
        "InsufficientFreeAddresses", "not enough free addresses",
    )),
    _Law(Cause.CONFIGURATION, Scope.REGION, Remedy.STOP, 24 * _HOUR, (
        "requested configuration is currently not supported", "InvalidParameter", "InvalidInstanceType", "MissingParameter",
        "InvalidAvailabilityZone", "InvalidZone", "IdempotentParameterMismatch", "InvalidKMSKey", "TagPolicyViolation",
        "InvalidClientToken", "TagLimitExceeded",
        "UnsupportedException", "Ec2LaunchTemplate", "Ec2SubnetNotFound", "AmiIdNotFound", "KubernetesLabelInvalid",
        "Ec2SubnetInvalidConfiguration", "Ec2SubnetMissingIpv6Assignment", "Ec2SubnetListTooLong", "Ec2SecurityGroupNotFound",
        "AutoScalingGroupNotFound", "AutoScalingGroupInvalidConfiguration", "IamInstanceProfileNotFound",
        "Ec2InstanceTypeDoesNotExist", "IamNodeRoleNotFound", "InvalidRequest", "ValidationError",
    )),
    _Law(Cause.NOT_OFFERED, Scope.ZONE, Remedy.NEXT_ZONE, 24 * _HOUR, ("Unsupported",)),
    _Law(Cause.JOIN, Scope.ZONE, Remedy.STOP, 0, (
        "NodeCreationFailure", "failed to join the kubernetes cluster", "Unhealthy nodes in the kubernetes cluster",
    )),
    _Law(Cause.IN_USE, Scope.CALL, Remedy.WAIT, 600, (
        "DependencyViolation", "ResourceInUse", "has dependencies and cannot be deleted", "has a dependent object",
        "has some mapped public address", "NodeTerminationFailure", "PodEvictionFailure", "Ec2SecurityGroupDeletionFailure",
        "AutoScalingGroupInstanceRefreshActive",
    )),
    _Law(Cause.CANCELLED, Scope.CALL, Remedy.STOP, 0, ("Resource creation cancelled", "Resource creation Initiated")),
    _Law(Cause.TRANSIENT, Scope.CALL, Remedy.RETRY, 60, (
        "InternalError", "InternalFailure", "ServerInternal", "ServiceUnavailable", "Unavailable", "RequestTimeout",
        "ClusterUnreachable", "NetworkFailure", "Connection was closed", "Read timeout", "Connect timeout", "Could not connect", "EndpointConnection",
    )),
)  # fmt: skip

_QUOTA = next(law for law in _LAWS if law.cause is Cause.QUOTA)
LAWS = tuple((law.cause, law.scope, law.remedy, law.holds_s, law.words) for law in _LAWS)  # as the pages show them

_ZONE_HINT = re.compile(
    r"(?:choosing|from these availability zones:)\s+((?:[a-z]{2}(?:-[a-z]+)+-\d[a-z](?:,\s*)?)+)",
    re.IGNORECASE,
)
_ZONE_NAME = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d[a-z]")


def classify(code: str, message: str = "") -> Failure:
    """What a code and its message mean. Anything unknown stays unknown: it is never "no capacity".

    A code that is known decides alone: messages quote names of calls and resources, such as CreateCapacityReservation.
    """
    law = _QUOTA if code == "LimitExceeded" else _law_for(code) or _law_for(message)  # part of the name of many others
    if not law:
        return Failure(Cause.UNKNOWN, Scope.CALL, Remedy.STOP, code, message)
    return Failure(law.cause, law.scope, law.remedy, code, message, law.holds_s, hinted_zones(message))


def _law_for(text: str) -> _Law | None:
    lower = text.lower()
    return next((law for law in _LAWS if any(word.lower() in lower for word in law.words)), None)


def zones_in(message: str) -> tuple[str, ...]:
    """Every zone that a message names, in its order."""
    return tuple(_ZONE_NAME.findall(message))


def hinted_zones(message: str) -> tuple[str, ...]:
    """The zones that EC2 or EKS itself suggests in a message."""
    hint = _ZONE_HINT.search(message)
    return tuple(_ZONE_NAME.findall(hint.group(1))) if hint else ()


_CONSEQUENCES = {Cause.JOIN, Cause.CANCELLED, Cause.UNKNOWN}


def root_cause(failures: list[Failure]) -> Failure | None:
    """The earliest failure that is not the consequence of another; `failures` come oldest first."""
    for failure in failures:
        if failure.cause not in _CONSEQUENCES:
            return failure
    for failure in failures:
        if failure.cause is not Cause.CANCELLED:
            return failure
    return failures[0] if failures else None
