"""Decoding application/vnd.kubernetes.protobuf request bodies.

Generated clients (helm's release Secrets, kubectl create, auth can-i, eviction) always send these for built-in
kinds and do not fall back on a 415. Answers may stay JSON.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api.errors import bad_request, unsupported_media_type
from clusterctl.sandbox.kube.api.messages import MESSAGES, FieldType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterctl.sandbox.kube.api.objects import Object

MAGIC = b"k8s\x00"
_FIXED = {1: 8, 5: 4}  # wire type -> bytes
# gogo writes zero values that are no pointers; in JSON their omitempty drops them
_EMPTY: tuple[Any, ...] = ("", None, {})
_MEANINGFUL_ZEROS = frozenset(["replicas", "gracePeriodSeconds", "backoffLimit", "value", "parallelism", "completions"])


def decode(body: bytes) -> Object:
    """The object as JSON. Raises 400 for another encoding and 415 for a kind that is not in the table."""
    if not body.startswith(MAGIC):
        raise bad_request("the body is not a Kubernetes protobuf message")
    envelope = _message(body[len(MAGIC) :], "Unknown")
    kind = envelope["typeMeta"]["kind"]
    if kind not in MESSAGES:
        raise unsupported_media_type(["application/json", "application/yaml"])
    header = {"apiVersion": envelope["typeMeta"].get("apiVersion", "v1"), "kind": kind}
    return {**header, **_message(envelope.get("raw", b""), kind)}


def _message(data: bytes, name: str) -> Object:
    decoded: Object = {}
    fields = MESSAGES[name]
    for number, value in _wire_fields(data):
        if (field := fields.get(number)) is not None:
            _add(decoded, field, value)
    return decoded


def _add(decoded: Object, field: FieldType, value: Any) -> None:
    if field.shape == "list":
        decoded.setdefault(field.name, []).append(_value(value, field.type))
    elif field.shape == "map":
        entry = dict(_wire_fields(value))
        key = entry.get(1, b"").decode()
        decoded.setdefault(field.name, {})[key] = _value(entry.get(2, b""), field.type)
    elif field.shape == "inline":
        decoded.update(_value(value, field.type))
    else:
        single = _value(value, field.type)
        if single not in _EMPTY and not _is_omitted_zero(field, single):
            decoded[field.name] = single


def _is_omitted_zero(field: FieldType, value: Any) -> bool:
    return field.type == "int" and value == 0 and field.name not in _MEANINGFUL_ZEROS


def _value(value: Any, kind: str) -> Any:
    decode_scalar = _SCALARS.get(kind)
    return _message(value, kind) if decode_scalar is None else decode_scalar(value)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _quantity(value: bytes) -> str:
    return str(dict(_wire_fields(value)).get(1, b"").decode())


def _time(value: bytes) -> str | None:
    seconds = dict(_wire_fields(value)).get(1, 0)
    if not 0 < seconds < 1 << 40:  # the zero time is a negative number of seconds
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _int_or_string(value: bytes) -> int | str:
    fields = dict(_wire_fields(value))
    if fields.get(1, 0) == 1:
        return str(fields.get(3, b"").decode())
    return int(fields.get(2, 0))


def _wire_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = _varint(data, position)
            yield number, value
            continue
        length = _FIXED.get(wire_type)
        if length is None:
            length, position = _varint(data, position)
        yield number, data[position : position + length]
        position += length


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "bytes": lambda value: base64.b64encode(value).decode(),
    "int": _signed,
    "intstr": _int_or_string,
    "json": json.loads,
    "quantity": _quantity,
    "raw": bytes,
    "str": lambda value: value.decode(),
    "time": _time,
}
