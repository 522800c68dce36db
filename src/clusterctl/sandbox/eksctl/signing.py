"""AWS signature version 4, and the bearer tokens of EKS that are made with it."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, urlencode, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"
_EMPTY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key; `token` is empty for a permanent one."""

    access_key: str
    secret_key: str
    token: str = ""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs for one service and region."""

    credentials: Credentials
    service: str
    region: str

    def headers(self, method: str, url: str, body: bytes) -> dict[str, str]:
        """The headers that make a request a signed one."""
        now, parts = datetime.now(UTC), urlsplit(url)
        signed = {"host": parts.netloc, "x-amz-date": f"{now:%Y%m%dT%H%M%SZ}"}
        if self.credentials.token:
            signed["x-amz-security-token"] = self.credentials.token
        digest = hashlib.sha256(body).hexdigest()
        request = _canonical(method, quote(parts.path or "/"), parts.query, signed, digest)
        authorization = (
            f"{_ALGORITHM} Credential={self.credentials.access_key}/{self._scope(now)},"
            f" SignedHeaders={';'.join(sorted(signed))}, Signature={self._signature(now, request)}"
        )
        return signed | {"authorization": authorization}

    def presigned(self, url: str, headers: dict[str, str], expires_s: int) -> str:
        """A GET URL that carries its signature."""
        now, parts = datetime.now(UTC), urlsplit(url)
        signed = {"host": parts.netloc} | headers
        query = {
            "X-Amz-Algorithm": _ALGORITHM,
            "X-Amz-Credential": f"{self.credentials.access_key}/{self._scope(now)}",
            "X-Amz-Date": f"{now:%Y%m%dT%H%M%SZ}",
            "X-Amz-Expires": str(expires_s),
            "X-Amz-SignedHeaders": ";".join(sorted(signed)),
        }
        if self.credentials.token:
            query["X-Amz-Security-Token"] = self.credentials.token
        pairs = [*(pair.split("=", 1) for pair in parts.query.split("&")), *query.items()]
        canonical = urlencode(sorted((key, value) for key, value in pairs), quote_via=quote, safe="-_.~")
        request = _canonical("GET", parts.path or "/", canonical, signed, _EMPTY)
        base = f"{parts.scheme}://{parts.netloc}{parts.path or '/'}"
        return f"{base}?{canonical}&X-Amz-Signature={self._signature(now, request)}"

    def _scope(self, now: datetime) -> str:
        return f"{now:%Y%m%d}/{self.region}/{self.service}/aws4_request"

    def _signature(self, now: datetime, request: str) -> str:
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = f"{_ALGORITHM}\n{now:%Y%m%dT%H%M%SZ}\n{self._scope(now)}\n{digest}"
        key = f"AWS4{self.credentials.secret_key}".encode()
        for part in (f"{now:%Y%m%d}", self.region, self.service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, text.encode(), "sha256").hex()


def _canonical(method: str, path: str, query: str, headers: dict[str, str], digest: str) -> str:
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    return "\n".join([method, path, query, lines, ";".join(sorted(headers)), digest])


def cluster_token(credentials: Credentials, region: str, cluster: str) -> str:
    """A bearer token for a cluster's API: a presigned GetCallerIdentity that names the cluster."""
    url = f"https://sts.{region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"
    presigned = Signer(credentials, "sts", region).presigned(url, {"x-k8s-aws-id": cluster}, 60)
    return "k8s-aws-v1." + base64.urlsafe_b64encode(presigned.encode()).decode().rstrip("=")
