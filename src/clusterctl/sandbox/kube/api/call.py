"""One request for a resource: what it names, what it carries, and how its answer is to look."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from aiohttp import web

from clusterctl.sandbox.kube.api import protobuf
from clusterctl.sandbox.kube.api.errors import bad_request, unsupported_media_type
from clusterctl.sandbox.kube.api.options import DeleteOptions, WriteOptions
from clusterctl.sandbox.kube.api.schema import unknown_fields
from clusterctl.sandbox.kube.api.strictness import unknown_builtin_fields
from clusterctl.sandbox.kube.api.tables import TableMaker, partial

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.core import Core
    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Resource

_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
BODY_TYPES = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]


@dataclass(frozen=True, slots=True)
class Call:
    """A request with the resource, namespace, object and subresource that its path names."""

    request: web.Request
    core: Core
    resource: Resource
    namespace: str | None = None
    name: str = ""
    subresource: str = ""

    @property
    def accept(self) -> str:
        return self.request.headers.get("Accept", "")

    @property
    def media_type(self) -> str:
        return self.request.headers.get("Content-Type", "").partition(";")[0].strip()

    def query(self, name: str, default: str = "") -> str:
        return self.request.query.get(name, default)

    def flag(self, name: str) -> bool:
        return self.query(name) in {"true", "1"}

    @property
    def dry_run(self) -> bool:
        return "All" in self.request.query.getall("dryRun", [])

    def current(self) -> Object:
        """The object named by the path. Raises the 404."""
        return self.core.store.get(self.resource, self.namespace, self.name)

    def write_options(self, *, applies: bool = False) -> WriteOptions:
        agent = self.request.headers.get("User-Agent", "unknown").partition("/")[0]
        manager = self.query("fieldManager") or agent
        return WriteOptions(manager, self.subresource, dry_run=self.dry_run, applies=applies)

    async def delete_options(self) -> DeleteOptions:
        body = await self.body()
        for name in ("propagationPolicy", "gracePeriodSeconds"):
            if given := self.query(name):
                body = {name: int(given) if given.isdigit() else given, **body}
        return DeleteOptions.from_json(body, dry_run=self.dry_run)

    async def body(self) -> Any:
        """The decoded body, {} when there is none. Raises 400 or 415."""
        data = await self.request.read()
        if not data:
            return {}
        if "protobuf" in self.media_type:
            return protobuf.decode(data)
        if "cbor" in self.media_type:
            raise unsupported_media_type(BODY_TYPES)
        return parse(data, self.media_type)

    async def object_body(self) -> Object:
        """The body as an object of this resource's kind, held to fieldValidation."""
        body = await self.body()
        if not isinstance(body, dict):
            raise bad_request("the body of the request is not an object")
        self.check_kind(body)
        self.check_fields(body)
        return body

    def check_kind(self, body: Object) -> None:
        kind, version = body.get("kind"), body.get("apiVersion")
        if kind not in (None, self.resource.kind) or version not in (None, self.resource.api_version):
            expected = f"{self.resource.kind} ({self.resource.api_version})"
            raise bad_request(f"the object provided is a {kind} ({version}), expected a {expected}")

    def check_fields(self, body: Object) -> None:
        """Refuse fields nobody knows, where the client asked for Strict."""
        if self.query("fieldValidation") != "Strict":
            return
        if self.resource.definition is not None:
            unknown = unknown_fields(body, self.resource.schema)
        else:
            unknown = unknown_builtin_fields(self.resource.kind, body)
        if unknown:
            listed = ", ".join(f'unknown field "{path}"' for path in unknown)
            kind, version = self.resource.kind, self.resource.version
            prefix = f'{kind} in version "{version}" cannot be handled as a {kind}: '
            raise bad_request(f"{prefix}strict decoding error: {listed}")

    def table(self) -> TableMaker:
        return TableMaker(self.resource, self.core.now(), self.query("includeObject", "Metadata"))

    def versioned(self, obj: Object) -> Object:
        """All versions share what is stored; the answer bears the version that was asked for."""
        if obj.get("apiVersion") == self.resource.api_version:
            return obj
        return {**obj, "apiVersion": self.resource.api_version}

    def render(self, obj: Object, status: int = 200) -> web.Response:
        """One object, as object, table or metadata."""
        obj = self.versioned(obj)
        if "as=Table" in self.accept:
            version = obj["metadata"].get("resourceVersion", "")
            return answer(self.table().table([obj], {"resourceVersion": version}), status)
        if "as=PartialObjectMetadata" in self.accept:
            return answer(partial(obj), status)
        return answer(obj, status)


def answer(document: Any, status: int = 200) -> web.Response:
    """A JSON answer without the blanks that nobody reads."""
    body = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
    return web.Response(body=body, status=status, content_type="application/json")


def success(status: int = 200, details: Object | None = None) -> web.Response:
    base: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return answer({**base, **({"details": details} if details else {}), "code": status}, status)


def parse(data: bytes, media_type: str) -> Any:
    """JSON, or YAML where the type says so (apply patches come as either under a YAML type)."""
    try:
        if "yaml" in media_type and not data.lstrip().startswith((b"{", b"[")):
            return json.loads(json.dumps(yaml.load(data, _YAML), default=str))  # noqa: S506 - a safe loader
        return json.loads(data)
    except (ValueError, yaml.YAMLError) as problem:
        raise bad_request(f"error decoding the body: {problem}") from problem
