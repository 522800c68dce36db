"""One API server for each test module that asks for it; clients with a fresh home for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubeworld import Clients, HandTurned, RunningServer, program


@pytest.fixture
def world() -> HandTurned:
    return HandTurned()


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    running = RunningServer()
    yield running
    running.close()


@pytest.fixture
def clients(server: RunningServer, tmp_path: Path) -> Clients:
    if program("kubectl") is None:
        pytest.skip("kubectl is not installed beside Python")
    (tmp_path / "kubeconfig").write_text(server.kubeconfig())
    return Clients(tmp_path)
