"""The program, and a sandbox that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.program import LocalWorld, Program, local_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWorld]:
    with local_world(tmp_path_factory.mktemp("world"), "speed: 3000\n") as found:
        yield found


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """The program against AWS itself, with no credentials to be found and no way to the network."""
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "CLUSTERCTL_SANDBOX"):
        monkeypatch.delenv(key, raising=False)
    nowhere = {"AWS_EC2_METADATA_DISABLED": "true", "HTTPS_PROXY": "http://127.0.0.1:9"}
    return Program(tmp_path, monkeypatch, capsys, nowhere)


@pytest.fixture
def sandboxed(bare: Program, world: LocalWorld) -> Program:
    bare.environ |= world.environ
    return bare
