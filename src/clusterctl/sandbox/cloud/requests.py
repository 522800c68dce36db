"""What an AWS request says, whatever its protocol: service, action, region, key, and the facts faults select by."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl

from moto.core.request import Request
from moto.core.routing import get_service_router
from werkzeug.exceptions import HTTPException

Protocol = Literal["ec2", "query", "json", "rest-json", "rest-xml"]
_SCOPE = re.compile(r"Credential=([^/,\s]*)/[^/]*/([^/]*)/([^/]*)/aws4_request")
_SERVICE_NAMES = {"servicequotas": "service-quotas", "monitoring": "cloudwatch"}
_REST_MODELS = {"eks": "eks", "elasticfilesystem": "efs", "s3": "s3"}
_AGENTS = ("clusterctl", "eksctl")
_LIST_MARKERS = {"member", "entry"}


@dataclass(frozen=True, slots=True)
class AwsRequest:
    """One call. `fields` are its parameters as (last name, value), lists flattened; `agent` is who sent it."""

    service: str
    action: str
    region: str
    access_key: str
    protocol: Protocol
    fields: tuple[tuple[str, str], ...]
    agent: str = ""

    def values(self, *names: str) -> list[str]:
        """The values of the fields of these names, compared without case."""
        wanted = {name.lower() for name in names}
        return [value for name, value in self.fields if name.lower() in wanted]

    def names(self) -> list[str]:
        """What the call names: the values of all fields that end in Name or Id."""
        return [value for name, value in self.fields if name.endswith(("Name", "name", "Id", "id"))]


def read(environ: dict[str, Any]) -> AwsRequest:
    """Read a WSGI request; its body can be read again afterwards."""
    body = _body(environ)
    signed = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    key, region, signing_name = signed.groups() if signed else ("", "us-east-1", "")
    protocol = _protocol(environ, signing_name)
    action, fields = _read_action(environ, body, protocol, signing_name)
    service = _SERVICE_NAMES.get(signing_name, signing_name)
    return AwsRequest(service, action, region, key, protocol, tuple(fields), _agent(environ))


def _agent(environ: dict[str, Any]) -> str:
    """`clusterctl` or `eksctl`, as they name themselves; else the first word of the user agent."""
    said = str(environ.get("HTTP_USER_AGENT", ""))
    return next((name for name in _AGENTS if f"{name}/" in said), said.partition("/")[0])


def _body(environ: dict[str, Any]) -> bytes:
    stream = environ["wsgi.input"]
    length = environ.get("CONTENT_LENGTH")
    if environ.get("wsgi.input_terminated"):
        body: bytes = stream.read()
    else:
        body = stream.read(int(length)) if length else b""
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    return body


def _protocol(environ: dict[str, Any], signing_name: str) -> Protocol:
    if environ.get("HTTP_X_AMZ_TARGET"):
        return "json"
    if signing_name == "ec2":
        return "ec2"
    if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        return "query"
    return "rest-xml" if signing_name in ("s3", "route53", "cloudfront") else "rest-json"


def _read_action(
    environ: dict[str, Any], body: bytes, protocol: Protocol, signing_name: str
) -> tuple[str, list[tuple[str, str]]]:
    if protocol in ("ec2", "query"):
        form = parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
        form = form or parse_qsl(environ.get("QUERY_STRING", ""))
        return dict(form).get("Action", ""), [(_last_name(key), value) for key, value in form]
    if protocol == "json":
        action = environ["HTTP_X_AMZ_TARGET"].rpartition(".")[2]
        return action, list(_flatten("", _parse_json(body)))
    action, uri = _rest_action(environ, signing_name)
    return action, [*uri, *_flatten("", _parse_json(body))]


def _rest_action(environ: dict[str, Any], signing_name: str) -> tuple[str, list[tuple[str, str]]]:
    unknown = f"{environ['REQUEST_METHOD']} {environ.get('PATH_INFO', '')}"
    if signing_name not in _REST_MODELS:
        return unknown, []
    try:
        operation, uri = get_service_router(_REST_MODELS[signing_name]).match(Request(dict(environ)))
    except (HTTPException, NotImplementedError):
        return unknown, []
    return str(operation.name), [(name, str(value)) for name, value in uri.items()]


def _last_name(key: str) -> str:
    """`LaunchTemplateData.InstanceType.1` -> `InstanceType`."""
    parts = [part for part in key.split(".") if not part.isdigit() and part not in _LIST_MARKERS]
    return parts[-1] if parts else key


def _parse_json(body: bytes) -> object:
    try:
        return json.loads(body) if body else {}
    except ValueError:
        return {}


def _flatten(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(str(key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _flatten(name, inner)
    else:
        yield name, str(value)
