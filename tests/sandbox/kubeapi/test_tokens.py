"""EKS tokens are verified, not believed."""

from __future__ import annotations

import base64
import time
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import botocore.session
import pytest
from botocore.signers import RequestSigner

from clusterctl.sandbox.kube.authentication import CREATOR, SIMULATION, Authenticator
from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY

EXPECTED = Authenticator("trainer", "admin-token")


def presigned(
    cluster: str, secret: str = SECRET_KEY, key: str = ACCESS_KEY, host: str = "https://sts.us-east-1.amazonaws.com"
) -> str:
    session = botocore.session.get_session()
    session.set_credentials(key, secret)
    model = session.get_service_model("sts")
    credentials = session.get_credentials()
    signer = RequestSigner(
        model.service_id, "us-east-1", "sts", "v4", credentials, session.get_component("event_emitter")
    )
    request = {
        "method": "GET",
        "url": f"{host}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {"x-k8s-aws-id": cluster},
        "context": {},
    }
    url: str = signer.generate_presigned_url(request, region_name="us-east-1", expires_in=60, operation_name="")
    return url


def token(url: str) -> str:
    return "k8s-aws-v1." + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")


def with_query(url: str, **changes: str) -> str:
    parts = urlsplit(url)
    query = {**dict(parse_qsl(parts.query)), **changes}
    return urlunsplit(parts._replace(query=urlencode(query)))


def test_a_token_that_boto_signs_for_the_cluster_is_its_creators() -> None:
    assert EXPECTED(token(presigned("trainer"))) == CREATOR


@pytest.mark.parametrize("host", ["http://127.0.0.1:4566", "https://sts.us-east-1.amazonaws.com"])
def test_the_urls_own_host_is_what_was_signed(host: str) -> None:
    assert EXPECTED(token(presigned("trainer", host=host))) == CREATOR


def test_the_simulation_has_a_token_of_its_own() -> None:
    assert EXPECTED("admin-token") == SIMULATION
    assert EXPECTED("another") is None


@pytest.mark.parametrize(
    "url",
    [
        presigned("another-cluster"),
        presigned("trainer", secret="x" * 40),
        presigned("trainer", key="AKIAFOREIGN"),
        presigned("trainer").replace("GetCallerIdentity", "GetSessionToken"),
        presigned("trainer", host="https://sts.us-east-1.amazonaws.com").replace(
            "us-east-1.amazonaws", "eu-west-1.amazonaws"
        ),
        with_query(presigned("trainer"), **{"X-Amz-Expires": "3600"}),
        with_query(presigned("trainer"), **{"X-Amz-Date": "20200101T000000Z"}),
        with_query(presigned("trainer"), **{"X-Amz-SignedHeaders": "host"}),
        "file:///etc/hostname",
    ],
    ids=["cluster", "secret", "key", "action", "host", "long", "date", "headers", "scheme"],
)
def test_any_other_token_opens_nothing(url: str) -> None:
    assert EXPECTED(token(url)) is None


@pytest.mark.parametrize("text", ["", "k8s-aws-v1.", "k8s-aws-v1.!!!", "k8s-aws-v1.aGVsbG8", "Bearer"])
def test_what_is_no_token_opens_nothing(text: str) -> None:
    assert EXPECTED(text) is None


def test_a_token_expires_after_a_quarter_of_an_hour() -> None:
    made = token(presigned("trainer"))
    assert replace(EXPECTED, now=lambda: time.time() + 890)(made) == CREATOR
    assert replace(EXPECTED, now=lambda: time.time() + 901)(made) is None
