# ruff: noqa: E501 - the services' sentences as they are
"""What AWS says when something cannot be had, word for word, and what it means. Nothing is faked."""

from __future__ import annotations

import pytest
from botocore.session import get_session
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.failures import Cause, Failure, Remedy, Scope, classify, hinted_zones, root_cause

NO_CAPACITY = (
    "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient p4d.24xlarge "
    "capacity in the Availability Zone you requested (us-east-1d). Our system will be working on provisioning additional "
    "capacity. You can currently get p4d.24xlarge capacity by not specifying an Availability Zone in your request or choosing "
    "us-east-1a, us-east-1b. Launching EC2 instance failed."
)
NO_SPOT = (
    "Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration. "
    "Please adjust your request and try again. Launching EC2 instance failed."
)
VCPU_LIMIT = (
    "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU "
    "limit of 8 allows for the instance bucket that the specified instance type belongs to. Please visit "
    "http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit. Launching EC2 instance failed."
)
NOT_IN_ZONE = (
    "Could not launch On-Demand Instances. InvalidFleetConfiguration - Your requested instance type (p3.8xlarge) is not "
    "supported in your requested Availability Zone (us-east-2c). Please retry your request by not specifying an Availability "
    "Zone or choosing us-east-2a, us-east-2b. Launching EC2 instance failed."
)
NOT_SUPPORTED = "The requested configuration is currently not supported. Please check the documentation for supported configurations."
RESERVATION_FULL = (
    "Could not launch On-Demand Instances. ReservationCapacityExceeded - The requested reservation does not have sufficient "
    "compatible and available capacity for this request. Launching EC2 instance failed."
)
BAD_KEY = (
    "Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "
    "Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state"
)
NO_EKS_ZONE = (
    "Cannot create cluster 'x' because us-east-1e, the targeted availability zone, does not currently have sufficient capacity "
    "to support the cluster. Retry and choose from these availability zones: us-east-1a, us-east-1b, us-east-1c"
)
DENIED_RESERVATION = (
    "You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/ml is not authorized to perform: "
    "ec2:CreateCapacityReservation on resource: arn:aws:ec2:us-east-2:123456789012:capacity-reservation/* because no "
    "identity-based policy allows the ec2:CreateCapacityReservation action"
)
STACK_OLD = (
    "Nodegroup mng-2 failed to stabilize: [{Code: AsgInstanceLaunchFailures,Message: Could not launch On-Demand Instances. "
    "VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU limit of 8 allows,ResourceIds: "
    "[eks-mng-2-4abc]}, {Code: NodeCreationFailure,Message: Instances failed to join the kubernetes cluster,ResourceIds: "
    "[DUMMY_1]}]"
)
STACK_NEW = (
    'Resource handler returned message: "[Issue(Code=AsgInstanceLaunchFailures, Message=Could not launch On-Demand Instances. '
    "InsufficientInstanceCapacity - We currently do not have sufficient p5.48xlarge capacity in the Availability Zone you "
    'requested (us-east-1d)., ResourceIds=[eks-gpu-1])] (Service: null, Status Code: 0, Request ID: null)" '
    "(RequestToken: 1, HandlerErrorCode: GeneralServiceException)"
)

IN_USE = "The vpc 'vpc-1' has dependencies and cannot be deleted. (Service: Ec2, Status Code: 400)"

WORDINGS = [
    (NO_CAPACITY, Cause.CAPACITY, Scope.ZONE, Remedy.NEXT_ZONE),
    (NO_SPOT, Cause.CAPACITY, Scope.ZONE, Remedy.NEXT_ZONE),
    (STACK_NEW, Cause.CAPACITY, Scope.ZONE, Remedy.NEXT_ZONE),
    (VCPU_LIMIT, Cause.QUOTA, Scope.REGION, Remedy.STOP),
    (STACK_OLD, Cause.QUOTA, Scope.REGION, Remedy.STOP),
    ("Max spot instance count exceeded. Launching EC2 instance failed.", Cause.QUOTA, Scope.REGION, Remedy.STOP),
    ("You've reached your quota for maximum Fleet Requests for this account.", Cause.QUOTA, Scope.REGION, Remedy.STOP),
    (NOT_IN_ZONE, Cause.NOT_OFFERED, Scope.ZONE, Remedy.NEXT_ZONE),
    (NO_EKS_ZONE, Cause.NOT_OFFERED, Scope.ZONE, Remedy.NEXT_ZONE),
    (NOT_SUPPORTED, Cause.CONFIGURATION, Scope.REGION, Remedy.STOP),
    (BAD_KEY, Cause.CONFIGURATION, Scope.REGION, Remedy.STOP),
    (RESERVATION_FULL, Cause.RESERVATION, Scope.REGION, Remedy.STOP),
    ("The capacity reservation cr-1 is not active yet", Cause.RESERVATION, Scope.REGION, Remedy.STOP),
    ("There are not enough free addresses in subnet 'subnet-1'", Cause.ADDRESSES, Scope.ZONE, Remedy.NEXT_ZONE),
    (
        "InvalidParameterCombination - The specified instance type is not eligible for Free Tier",
        Cause.ACCOUNT, Scope.REGION, Remedy.STOP,
    ),
    ("Instances failed to join the kubernetes cluster", Cause.JOIN, Scope.ZONE, Remedy.STOP),
    ("Unhealthy nodes in the kubernetes cluster", Cause.JOIN, Scope.ZONE, Remedy.STOP),
    ("Resource creation cancelled", Cause.CANCELLED, Scope.CALL, Remedy.STOP),
    (DENIED_RESERVATION, Cause.DENIED, Scope.ACCOUNT, Remedy.STOP),
    (IN_USE, Cause.IN_USE, Scope.CALL, Remedy.WAIT),
]  # fmt: skip

CODES = [
    ("InsufficientInstanceCapacity", Cause.CAPACITY, Remedy.NEXT_ZONE),
    ("UnfulfillableCapacity", Cause.CAPACITY, Remedy.NEXT_ZONE),
    ("InstanceLimitExceeded", Cause.QUOTA, Remedy.STOP),
    ("VcpuLimitExceeded", Cause.QUOTA, Remedy.STOP),
    ("MaxSpotInstanceCountExceeded", Cause.QUOTA, Remedy.STOP),
    ("ReservationCapacityExceeded", Cause.RESERVATION, Remedy.STOP),
    ("InvalidCapacityReservationId.NotFound", Cause.RESERVATION, Remedy.STOP),
    ("InvalidCapacityReservationState.PendingActivation", Cause.RESERVATION, Remedy.STOP),
    ("InvalidCapacityReservationState.Unavailable", Cause.RESERVATION, Remedy.STOP),
    ("Unsupported", Cause.NOT_OFFERED, Remedy.NEXT_ZONE),
    ("UnsupportedAvailabilityZoneException", Cause.NOT_OFFERED, Remedy.NEXT_ZONE),
    ("UnsupportedException", Cause.CONFIGURATION, Remedy.STOP),
    ("InvalidInstanceType", Cause.CONFIGURATION, Remedy.STOP),
    ("InvalidParameterValue", Cause.CONFIGURATION, Remedy.STOP),
    ("InvalidParameterCombination", Cause.CONFIGURATION, Remedy.STOP),
    ("MissingParameter", Cause.CONFIGURATION, Remedy.STOP),
    ("InvalidAvailabilityZone", Cause.CONFIGURATION, Remedy.STOP),
    ("InvalidZone.NotFound", Cause.CONFIGURATION, Remedy.STOP),
    ("IdempotentParameterMismatch", Cause.CONFIGURATION, Remedy.STOP),
    ("InvalidClientToken", Cause.CONFIGURATION, Remedy.STOP),
    ("TagPolicyViolation", Cause.CONFIGURATION, Remedy.STOP),
    ("TagLimitExceeded", Cause.CONFIGURATION, Remedy.STOP),
    ("OptInRequired", Cause.ACCOUNT, Remedy.STOP),
    ("Blocked", Cause.ACCOUNT, Remedy.STOP),
    ("AccountDisabled", Cause.ACCOUNT, Remedy.STOP),
    ("PendingVerification", Cause.ACCOUNT, Remedy.STOP),
    ("AuthFailure", Cause.CREDENTIALS, Remedy.STOP),
    ("InvalidClientTokenId", Cause.CREDENTIALS, Remedy.STOP),
    ("UnrecognizedClientException", Cause.CREDENTIALS, Remedy.STOP),
    ("RequestExpired", Cause.CREDENTIALS, Remedy.STOP),
    ("SignatureDoesNotMatch", Cause.CREDENTIALS, Remedy.STOP),
    ("ExpiredTokenException", Cause.CREDENTIALS, Remedy.STOP),
    ("UnauthorizedOperation", Cause.DENIED, Remedy.STOP),
    ("AccessDeniedException", Cause.DENIED, Remedy.STOP),
    ("RequestLimitExceeded", Cause.THROTTLED, Remedy.RETRY),
    ("TooManyRequestsException", Cause.THROTTLED, Remedy.RETRY),
    ("ThrottlingException", Cause.THROTTLED, Remedy.RETRY),
    ("InternalError", Cause.TRANSIENT, Remedy.RETRY),
    ("InternalFailure", Cause.TRANSIENT, Remedy.RETRY),
    ("ServerInternal", Cause.TRANSIENT, Remedy.RETRY),
    ("ServiceUnavailable", Cause.TRANSIENT, Remedy.RETRY),
    ("Unavailable", Cause.TRANSIENT, Remedy.RETRY),
    ("DependencyViolation", Cause.IN_USE, Remedy.WAIT),
    ("ResourceInUseException", Cause.IN_USE, Remedy.WAIT),
    ("LimitExceeded", Cause.QUOTA, Remedy.STOP),
]

CAPACITY_WORDS = ("insufficient", "unfulfillable", "sufficient", "unable to fulfill capacity")


@pytest.mark.parametrize(("text", "cause", "scope", "remedy"), WORDINGS)
def test_a_wording_means_one_thing(text: str, cause: Cause, scope: Scope, remedy: Remedy) -> None:
    found = classify("", text)
    assert (found.cause, found.scope, found.remedy) == (cause, scope, remedy)
    assert found.message == text


@pytest.mark.parametrize(("code", "cause", "remedy"), CODES)
def test_a_code_means_one_thing_whatever_its_message_quotes(code: str, cause: Cause, remedy: Remedy) -> None:
    for message in (
        "",
        DENIED_RESERVATION,
        "when calling the CreateCapacityReservation operation: Insufficient capacity.",
    ):
        found = classify(code, message)
        assert (found.cause, found.remedy) == (cause, remedy), message


@given(st.text(max_size=200))
def test_unknown_text_is_never_no_capacity(text: str) -> None:
    assert classify("", text).cause is not Cause.CAPACITY or any(word in text.lower() for word in CAPACITY_WORDS)
    assert classify(text).cause is not Cause.CAPACITY or any(word in text.lower() for word in CAPACITY_WORDS)


_EVERYDAY = [
    "capacity",
    "instance",
    "not",
    "available",
    "launch",
    "failed",
    "zone",
    "no",
    "more",
    "p5.48xlarge",
    "us-east-1d",
    "-",
    ".",
]


@given(st.lists(st.sampled_from(_EVERYDAY), max_size=12).map(" ".join))
def test_talk_of_capacity_alone_is_not_a_lack_of_it(text: str) -> None:
    assert classify("", text).cause is not Cause.CAPACITY


@given(
    st.sampled_from([code for code, cause, _ in CODES if cause in (Cause.THROTTLED, Cause.DENIED, Cause.CREDENTIALS)]),
    st.sampled_from([text for text, *_ in WORDINGS]),
)
def test_throttled_and_denied_are_never_no_capacity(code: str, message: str) -> None:
    assert classify(code, message).cause in (Cause.THROTTLED, Cause.DENIED, Cause.CREDENTIALS)


@pytest.mark.parametrize("code", ["", "MaxConfigLimitExceeded", "SomethingNew", "GeneralServiceException"])
def test_what_nobody_knows_stays_unknown_and_stops(code: str) -> None:
    found = classify(code, "something that has never been said before")
    assert (found.cause, found.remedy, found.zones) == (Cause.UNKNOWN, Remedy.STOP, ())


@pytest.mark.parametrize(
    ("message", "zones"),
    [
        (NO_CAPACITY, ("us-east-1a", "us-east-1b")),
        (NOT_IN_ZONE, ("us-east-2a", "us-east-2b")),
        (NO_EKS_ZONE, ("us-east-1a", "us-east-1b", "us-east-1c")),
        ("choosing us-gov-west-1a", ("us-gov-west-1a",)),
        (VCPU_LIMIT, ()),
        ("no sufficient capacity in the Availability Zone you requested (us-east-1d)", ()),
    ],
)
def test_the_zones_that_the_service_suggests_are_read_from_its_words(message: str, zones: tuple[str, ...]) -> None:
    assert hinted_zones(message) == zones
    assert classify("", message).zones in (zones, ())


def _failures(*texts: str) -> list[Failure]:
    return [classify("", text) for text in texts]


def test_a_launch_failure_beats_the_joins_that_it_prevented() -> None:
    found = root_cause(
        _failures("Instances failed to join the kubernetes cluster", NO_CAPACITY, "Resource creation cancelled")
    )
    assert found is not None
    assert found.cause is Cause.CAPACITY


def test_the_earliest_cause_beats_later_ones() -> None:
    found = root_cause(_failures("Resource creation cancelled", VCPU_LIMIT, NO_CAPACITY))
    assert found is not None
    assert found.cause is Cause.QUOTA


def test_a_join_failure_beats_what_was_cancelled_for_it() -> None:
    found = root_cause(_failures("Resource creation cancelled", "Instances failed to join the kubernetes cluster"))
    assert found is not None
    assert found.cause is Cause.JOIN


def test_no_failure_has_no_cause() -> None:
    assert root_cause([]) is None


def test_every_health_issue_that_eks_knows_means_something() -> None:
    codes = get_session().get_service_model("eks").shape_for("NodegroupIssueCode").enum
    spoken_by_their_message = {"Unknown", "AsgInstanceLaunchFailures"}
    assert len(codes) > 30
    assert {code for code in codes if classify(code).cause is Cause.UNKNOWN} <= spoken_by_their_message


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "TagLimitExceeded", "MaxConfigLimitExceeded"])
def test_a_limit_is_a_quota_only_by_its_whole_name(code: str) -> None:
    assert classify(code).cause is not Cause.QUOTA
