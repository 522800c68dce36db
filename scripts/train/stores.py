"""Where checkpoints are kept. A step exists once its manifest does, and that is written last."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, Protocol

MANIFEST = "manifest.json"
STEP = re.compile(r"step-(\d{8})")


class CheckpointError(RuntimeError):
    """A checkpoint that could not be written, or that is not what was written."""


class Store(Protocol):
    """A place for checkpoints. All ranks write their files; the first rank alone commits and deletes."""

    name: str

    def write(self, step: int, file: str, content: bytes) -> None: ...
    def commit(self, step: int, manifest: dict[str, Any]) -> None: ...
    def steps(self) -> list[int]: ...
    def manifest(self, step: int) -> dict[str, Any]: ...
    def read(self, step: int, file: str) -> bytes: ...
    def delete(self, step: int) -> None: ...


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def folder_name(step: int) -> str:
    return f"step-{step:08d}"


class Folder:
    """Checkpoints in a folder that all ranks share. A step is gathered beside its name, and renamed at the end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.name = str(root)

    def _partial(self, step: int) -> Path:
        return self.root / f".{folder_name(step)}.partial"

    def write(self, step: int, file: str, content: bytes) -> None:
        target = self._partial(step) / file
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f"{target.name}.{os.getpid()}")
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(target)

    def commit(self, step: int, manifest: dict[str, Any]) -> None:
        """Raises CheckpointError where a rank's file is not here: then the folder is not shared."""
        partial, final = self._partial(step), self.root / folder_name(step)
        for file, entry in manifest["files"].items():
            path = partial / file
            if not path.is_file() or path.stat().st_size != entry["bytes"]:
                raise CheckpointError(f"{path} is not here: all ranks must share the folder {self.root}")
        for leftover in partial.iterdir():
            if leftover.name not in manifest["files"]:
                leftover.unlink()  # of a run that was killed at this step
        self.write(step, MANIFEST, json.dumps(manifest, indent=1).encode())
        _sync(partial)
        if final.exists():
            shutil.rmtree(final)  # incomplete or damaged, or it would not be written again
        partial.rename(final)
        _sync(self.root)

    def steps(self) -> list[int]:
        """Complete steps, the newest first."""
        found = [STEP.fullmatch(one.name) for one in self.root.iterdir()] if self.root.is_dir() else []
        numbers = [int(one[1]) for one in found if one and (self.root / one[0] / MANIFEST).is_file()]
        return sorted(numbers, reverse=True)

    def manifest(self, step: int) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.read(step, MANIFEST))
        return content

    def read(self, step: int, file: str) -> bytes:
        return (self.root / folder_name(step) / file).read_bytes()

    def delete(self, step: int) -> None:
        """Without its manifest first, so that a deletion that is cut short leaves no half step."""
        (self.root / folder_name(step) / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(self.root / folder_name(step), ignore_errors=True)


class Bucket:
    """Checkpoints under a prefix in S3. `client` is boto3's; S3 itself checks what it receives."""

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:
        self.client, self.bucket, self.prefix = client, bucket, prefix.strip("/")
        self.name = f"s3://{bucket}/{self.prefix}"

    def _key(self, step: int, file: str) -> str:
        return "/".join(part for part in (self.prefix, folder_name(step), file) if part)

    def write(self, step: int, file: str, content: bytes) -> None:
        """In parts where it is large, each with a checksum, and the size compared at the end."""
        import io

        from boto3.s3.transfer import TransferConfig

        key = self._key(step, file)
        self.client.upload_fileobj(
            io.BytesIO(content), self.bucket, key,
            ExtraArgs={"ChecksumAlgorithm": "SHA256", "Metadata": {"sha256": digest(content)}},
            Config=TransferConfig(multipart_chunksize=64 * 2**20),
        )  # fmt: skip
        kept = self.client.head_object(Bucket=self.bucket, Key=key)
        if kept["ContentLength"] != len(content):
            raise CheckpointError(f"s3://{self.bucket}/{key} has {kept['ContentLength']} of {len(content)} bytes")

    def commit(self, step: int, manifest: dict[str, Any]) -> None:
        for file, entry in manifest["files"].items():
            kept = self.client.head_object(Bucket=self.bucket, Key=self._key(step, file))
            if kept["ContentLength"] != entry["bytes"] or kept["Metadata"].get("sha256") != entry["sha256"]:
                raise CheckpointError(f"{self.name} does not hold {file} of step {step}")
        self.write(step, MANIFEST, json.dumps(manifest, indent=1).encode())

    def steps(self) -> list[int]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.prefix)
        keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
        found = [STEP.search(key) for key in keys if key.endswith("/" + MANIFEST)]
        return sorted({int(one[1]) for one in found if one}, reverse=True)

    def manifest(self, step: int) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.read(step, MANIFEST))
        return content

    def read(self, step: int, file: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=self.bucket, Key=self._key(step, file))["Body"].read()
        return content

    def delete(self, step: int) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=self._key(step, MANIFEST))
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self._key(step, ""))
        for page in pages:
            for one in page.get("Contents", []):
                self.client.delete_object(Bucket=self.bucket, Key=one["Key"])


def open_store(address: str) -> Store:
    """A folder, or `s3://bucket/prefix`, for which boto3 must be in the image."""
    found = re.fullmatch(r"s3://([^/]+)/?(.*)", address)
    if not found:
        return Folder(Path(address))
    import boto3

    return Bucket(boto3.client("s3"), found[1], found[2])


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
