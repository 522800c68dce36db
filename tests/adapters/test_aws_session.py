"""The way to AWS: one client each, loopback only where an endpoint is given, and faults in our own words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from clusterctl.adapters.aws.faults import failure_of, translate
from clusterctl.adapters.aws.session import AwsSession, Credentials, Purpose
from clusterctl.errors import AccessError, ClusterctlError, QuotaTooSmallError, UsageError
from clusterctl.model.failures import Cause
from local_aws import LocalAws

LOOPBACK = "http://127.0.0.1:9"


def client_error(code: str, message: str = "", status: int = 400) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "req-1"},
    }
    return ClientError(answer, "CreateCapacityReservation")  # type: ignore[arg-type]


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without credentials of any kind."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def test_threads_share_one_client_for_a_service_and_region() -> None:
    session = AwsSession(credentials=Credentials("AKIA", "x"), endpoint_url=LOOPBACK)
    with ThreadPoolExecutor(8) as pool:
        clients = list(pool.map(lambda _: session.client("ec2", "us-east-2"), range(16)))
    assert len({id(one) for one in clients}) == 1
    assert session.client("ec2", "us-east-2", Purpose.ONCE) is not clients[0]


def test_a_call_that_would_leave_the_machine_is_refused() -> None:
    session = AwsSession(credentials=Credentials("AKIA", "x"), endpoint_url="http://aws.example.com")
    with pytest.raises(UsageError, match=r"refused: a call to aws\.example\.com"):
        session.identity()


def test_a_proxy_of_the_environment_does_not_carry_loopback_calls_away(
    aws: LocalAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert aws.session().identity().account_id == "123456789012"


def test_given_credentials_leave_a_broken_profile_of_the_user_alone(
    aws: LocalAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    assert aws.session().identity().partition == "aws"


@pytest.mark.usefixtures("nobody")
def test_no_credentials_is_an_access_error_with_a_way_out() -> None:
    with pytest.raises(AccessError, match="Unable to locate credentials") as caught:
        AwsSession().identity()
    assert caught.value.exit_code == 6
    assert "log in" in caught.value.hint


@pytest.mark.usefixtures("nobody")
def test_a_profile_that_does_not_exist_is_an_access_error() -> None:
    with pytest.raises(AccessError, match="nope"):
        AwsSession(profile="nope").identity()


@pytest.mark.parametrize("key", ["AKIAEXPIRED000000000", "AKIASOMEBODYELSE0000"])
def test_expired_and_foreign_keys_are_access_errors_with_the_request_id(aws: LocalAws, key: str) -> None:
    with pytest.raises(AccessError) as caught:
        aws.session(key).identity()
    assert "request id" in caught.value.details


def test_a_permission_that_names_reservations_is_a_permission_and_not_a_reservation() -> None:
    words = "You are not authorized to perform: ec2:CreateCapacityReservation"
    assert failure_of(client_error("UnauthorizedOperation", words, 403)).cause is Cause.DENIED


def test_each_cause_gets_its_exit_code() -> None:
    assert isinstance(translate(client_error("InstanceLimitExceeded")), QuotaTooSmallError)
    assert isinstance(translate(client_error("AccessDenied")), AccessError)
    throttled = translate(client_error("RequestLimitExceeded", "slow down", 503), "list zones")
    assert (type(throttled), throttled.exit_code) == (ClusterctlError, 1)
    assert throttled.message == "cannot list zones: slow down"
    assert "req-1" in throttled.details


def test_a_lack_of_capacity_is_told_from_other_500s() -> None:
    assert (
        failure_of(client_error("InsufficientInstanceCapacity", "Insufficient capacity.", 500)).cause is Cause.CAPACITY
    )
    assert failure_of(client_error("WhoKnows", "oops", 500)).cause is Cause.TRANSIENT
    assert failure_of(client_error("WhoKnows", "oops", 400)).cause is Cause.UNKNOWN


def test_no_answer_is_transient() -> None:
    assert failure_of(ReadTimeoutError(endpoint_url="https://ec2")).cause is Cause.TRANSIENT
