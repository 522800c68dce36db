"""A step exists once it is whole: in a folder, and in S3 (moto stands in for it)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stores import MANIFEST, Bucket, CheckpointError, Folder, Store, digest, open_store


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    import boto3
    from moto import mock_aws

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="kept")
        yield client


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        return Folder(tmp_path / "kept")
    return Bucket(request.getfixturevalue("client"), "kept", "runs/one")


def save(store: Store, step: int, content: bytes = b"weights") -> None:
    store.write(step, "a.pt", content)
    store.commit(step, {"files": {"a.pt": {"bytes": len(content), "sha256": digest(content)}}})


def test_what_was_committed_is_there_and_read_back(store: Store) -> None:
    assert store.steps() == []
    save(store, 2)
    save(store, 10)
    assert store.steps() == [10, 2]
    assert store.read(10, "a.pt") == b"weights"
    assert list(store.manifest(10)["files"]) == ["a.pt"]


def test_a_step_without_its_commit_does_not_exist(store: Store) -> None:
    save(store, 2)
    store.write(4, "a.pt", b"half")
    assert store.steps() == [2]


def test_a_deleted_step_is_gone_and_no_other(store: Store) -> None:
    save(store, 2)
    save(store, 4)
    store.delete(2)
    assert store.steps() == [4]
    assert store.read(4, "a.pt") == b"weights"


def test_a_commit_of_what_is_not_there_fails_and_leaves_the_old(store: Store) -> None:
    save(store, 2)
    store.write(4, "a.pt", b"mine")
    theirs = {"b.pt": {"bytes": 3, "sha256": digest(b"abc")}}
    with pytest.raises(Exception, match=r"share|Not Found|404"):
        store.commit(4, {"files": {"a.pt": {"bytes": 4, "sha256": digest(b"mine")}, **theirs}})
    assert store.steps() == [2]


def test_a_step_that_was_damaged_is_written_anew(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    save(store, 2, b"old")
    (tmp_path / "step-00000002" / "a.pt").write_bytes(b"bad")
    save(store, 2, b"new")
    assert store.read(2, "a.pt") == b"new"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["step-00000002"]


def test_leftovers_of_a_killed_run_do_not_come_into_a_step(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    store.write(2, "of-another-world.pt", b"x")
    save(store, 2)
    assert {one.name for one in (tmp_path / "step-00000002").iterdir()} == {"a.pt", MANIFEST}


def test_other_content_in_s3_is_no_step(client: Any) -> None:
    store = Bucket(client, "kept", "run")
    store.write(2, "a.pt", b"abc")
    with pytest.raises(CheckpointError, match="does not hold"):
        store.commit(2, {"files": {"a.pt": {"bytes": 3, "sha256": digest(b"xyz")}}})
    assert store.steps() == []


def test_addresses_tell_folders_from_buckets(client: Any) -> None:
    bucket = open_store("s3://kept/a/b/")
    assert (bucket.name, open_store("/fsx/a").name) == ("s3://kept/a/b", "/fsx/a")
