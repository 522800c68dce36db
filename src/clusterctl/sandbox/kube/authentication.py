"""Who may use a cluster: the simulation by a random token, people by the tokens that EKS takes.

An EKS token is `k8s-aws-v1.` and the base64url of a presigned STS GetCallerIdentity URL that was signed over the
header x-k8s-aws-id with the cluster's name. Its signature (Signature Version 4, query form) is recomputed here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

from clusterctl.sandbox.state import ACCESS_KEY, ACCOUNT_ID, SECRET_KEY

ADMIN_GROUP = "system:masters"
CLUSTER_HEADER = "x-k8s-aws-id"
_PREFIX = "k8s-aws-v1."
_ALGORITHM = "AWS4-HMAC-SHA256"
_LIFETIME_S = 900  # of a token, whatever X-Amz-Expires says below it
_SKEW_S = 300
_EMPTY_BODY = hashlib.sha256(b"").hexdigest()
_DEFAULT_PORTS = {"https": ":443", "http": ":80"}


@dataclass(frozen=True, slots=True)
class User:
    """Who a token stands for."""

    name: str
    groups: tuple[str, ...] = ()
    is_simulation: bool = False


Authenticate = Callable[[str], User | None]

SIMULATION = User("sandbox:controllers", (ADMIN_GROUP,), is_simulation=True)
CREATOR = User(f"arn:aws:iam::{ACCOUNT_ID}:user/sandbox", (ADMIN_GROUP,))


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Tokens of one cluster. Real time counts: the presigned URLs are made by unmodified AWS clients."""

    cluster: str
    admin_token: str
    now: Callable[[], float] = time.time

    def __call__(self, token: str) -> User | None:
        if hmac.compare_digest(token.encode(), self.admin_token.encode()):
            return SIMULATION
        return CREATOR if self.is_valid(token) else None

    def is_valid(self, token: str) -> bool:
        """Whether an EKS token is well formed, of this cluster, in time and signed with the sandbox's key."""
        url = _decoded(token)
        if url is None:
            return False
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        return (
            url.path in {"", "/"}
            and query.get("Action") == "GetCallerIdentity"
            and query.get("X-Amz-Algorithm") == _ALGORITHM
            and self._is_in_time(query)
            and self._is_signed(url, query)
        )

    def _is_in_time(self, query: dict[str, str]) -> bool:
        try:
            signed = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            expires = int(query["X-Amz-Expires"])
        except (KeyError, ValueError):
            return False
        age = self.now() - signed.timestamp()
        return 0 < expires <= _LIFETIME_S and -_SKEW_S <= age < _LIFETIME_S

    def _is_signed(self, url: SplitResult, query: dict[str, str]) -> bool:
        key, _, scope = query.get("X-Amz-Credential", "").partition("/")
        day, _, rest = scope.partition("/")
        region, _, service = rest.removesuffix("/aws4_request").partition("/")
        if key != ACCESS_KEY or service != "sts" or not query["X-Amz-Date"].startswith(day):
            return False
        headers = query.get("X-Amz-SignedHeaders", "")
        if {"host", CLUSTER_HEADER} - set(headers.split(";")):
            return False
        text = "\n".join([_ALGORITHM, query["X-Amz-Date"], scope, _digest(self._canonical(url, headers))])
        expected = hmac.new(_signing_key(day, region), text.encode(), hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, query.get("X-Amz-Signature", ""))

    def _canonical(self, url: SplitResult, headers: str) -> str:
        """The canonical request, as the signer must have built it for this cluster."""
        values = {"host": url.netloc.removesuffix(_DEFAULT_PORTS.get(url.scheme, "")), CLUSTER_HEADER: self.cluster}
        lines = "".join(f"{name}:{values.get(name, '')}\n" for name in headers.split(";"))
        return "\n".join(["GET", "/", _canonical_query(url.query), lines, headers, _EMPTY_BODY])


def _decoded(token: str) -> SplitResult | None:
    if not token.startswith(_PREFIX):
        return None
    text = token.removeprefix(_PREFIX)
    try:
        padded = text + "=" * (-len(text) % 4)
        url = urlsplit(base64.b64decode(padded, altchars=b"-_", validate=True).decode())
    except (binascii.Error, ValueError):
        return None
    return url if url.scheme in _DEFAULT_PORTS else None


def _canonical_query(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    signed = [(_escaped(name), _escaped(value)) for name, value in pairs if name != "X-Amz-Signature"]
    return "&".join(f"{name}={value}" for name, value in sorted(signed))


def _escaped(text: str) -> str:
    return quote(text, safe="-_.~")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _signing_key(day: str, region: str) -> bytes:
    key = f"AWS4{SECRET_KEY}".encode()
    for part in (day, region, "sts", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
