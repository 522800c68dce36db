"""A small client of AWS: signed requests, answers as plain dictionaries. botocore would triple the start-up."""

from __future__ import annotations

import http.client
import json
import os
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from clusterctl.sandbox.eksctl import VERSION
from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.signing import Credentials, Signer

_VERSIONS = {
    "ec2": "2016-11-15",
    "cloudformation": "2010-05-15",
    "sts": "2011-06-15",
    "iam": "2010-05-08",
    "autoscaling": "2011-01-01",
}
_AGENT = f"eksctl/{VERSION}"
_ATTEMPTS = 6
_THROTTLES = frozenset({"RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"})


class AwsError(EksctlError):
    """A refusal of AWS: its code and message."""

    def __init__(self, service: str, action: str, code: str, message: str) -> None:
        name = {"cloudformation": "CloudFormation"}.get(service, service.upper())
        super().__init__(f"operation error {name}: {action}, https response error, api error {code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Aws:
    """AWS in one region."""

    endpoint: str
    region: str
    credentials: Credentials

    @classmethod
    def from_environment(cls, region: str) -> Aws:
        """AWS as the environment says. Raises EksctlError without an endpoint or credentials."""
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        if not endpoint:
            raise EksctlError("AWS_ENDPOINT_URL is not set: this eksctl serves the sandbox alone")
        key, secret = os.environ.get("AWS_ACCESS_KEY_ID", ""), os.environ.get("AWS_SECRET_ACCESS_KEY", "")
        if not key or not secret:
            text = "failed to refresh cached credentials, no EC2 IMDS role found"
            raise EksctlError(f"checking AWS STS access – cannot get role ARN for current session: {text}")
        return cls(endpoint, region, Credentials(key, secret, os.environ.get("AWS_SESSION_TOKEN", "")))

    def query(self, service: str, action: str, **parameters: Any) -> dict[str, Any]:
        """Call a service of the query protocols (EC2, CloudFormation, IAM, STS). Raises AwsError."""
        separator = "" if service == "ec2" else ".member"
        fields = dict(_flat(parameters, separator)) | {"Action": action, "Version": _VERSIONS[service]}
        headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
        status, body = self._send(service, ("POST", "/", urlencode(fields).encode()), headers)
        root = _tree(ET.fromstring(body)) if body.strip().startswith(b"<") else {}  # noqa: S314
        if status >= 400:
            code, message = _xml_error(root)
            raise AwsError(service, action, code, message)
        found: dict[str, Any] = root.get(f"{action}Result", root) if isinstance(root, dict) else {}
        return found or {}

    def eks(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call EKS. Raises AwsError."""
        data = b"" if body is None else json.dumps(body).encode()
        status, answer = self._send("eks", (method, path, data), {"content-type": "application/json"})
        parsed: dict[str, Any] = json.loads(answer or b"{}")
        if status >= 400:
            code = str(parsed.get("__type") or parsed.get("code") or "UnknownError").split("#")[-1]
            raise AwsError("eks", path, code, str(parsed.get("message") or parsed.get("Message") or ""))
        return parsed

    def take_fault(self, on: str, **selectors: str | None) -> dict[str, Any] | None:
        """The fault that the scenario holds for this command, or None."""
        body = json.dumps({"on": on, "region": self.region} | {k: v for k, v in selectors.items() if v}).encode()
        status, answer = _exchange(
            self.endpoint, ("POST", "/moto-api/sandbox/take-fault", body), {"content-type": "application/json"}
        )
        fault: dict[str, Any] | None = json.loads(answer).get("fault") if status == 200 else None
        return fault

    def _send(self, service: str, request: tuple[str, str, bytes], headers: dict[str, str]) -> tuple[int, bytes]:
        """Send with retries as the SDK does: throttles, failures of the server and lost connections."""
        method, path, body = request
        signer = Signer(self.credentials, service, self.region)
        for attempt in range(_ATTEMPTS):
            signed = {"user-agent": _AGENT, **signer.headers(method, f"{self.endpoint}{path}", body)}
            try:
                status, answer = _exchange(self.endpoint, request, headers | signed)
            except (OSError, http.client.HTTPException) as problem:
                if attempt == _ATTEMPTS - 1:
                    raise EksctlError(f"exceeded maximum number of attempts, {problem}") from problem
            else:
                throttled = any(code.encode() in answer for code in _THROTTLES) and status >= 400
                if not (throttled or status >= 500) or attempt == _ATTEMPTS - 1:
                    return status, answer
            time.sleep(0.02 * 2**attempt)
        raise AssertionError("unreachable")


def _exchange(endpoint: str, request: tuple[str, str, bytes], headers: dict[str, str]) -> tuple[int, bytes]:
    method, path, body = request
    connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=60)
    try:
        connection.request(method, path, body=body or None, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _flat(value: Any, separator: str, prefix: str = "") -> list[tuple[str, str]]:
    """Parameters as the query protocol numbers them."""
    if isinstance(value, dict):
        joined = [(f"{prefix}.{key}" if prefix else key, item) for key, item in value.items()]
        return [pair for key, item in joined for pair in _flat(item, separator, key)]
    if isinstance(value, list):
        numbered = [(f"{prefix}{separator}.{index}", item) for index, item in enumerate(value, 1)]
        return [pair for key, item in numbered for pair in _flat(item, separator, key)]
    if value is None:
        return []
    return [(prefix, str(value).lower() if isinstance(value, bool) else str(value))]


def _tree(element: ET.Element) -> Any:
    """XML as dictionaries and lists; `member` and `item` make lists."""
    children = list(element)
    if not children:
        return element.text or ""
    names = [child.tag.rpartition("}")[2] for child in children]
    if set(names) <= {"member", "item"}:
        return [_tree(child) for child in children]
    return {name: _tree(child) for name, child in zip(names, children, strict=True)}


def _xml_error(root: Any) -> tuple[str, str]:
    error = root.get("Error") or root.get("Errors", {}).get("Error") or {} if isinstance(root, dict) else {}
    return str(error.get("Code", "UnknownError")), str(error.get("Message", ""))


def segment(name: str) -> str:
    """A name as part of a path."""
    return quote(name, safe="")
