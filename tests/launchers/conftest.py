"""What real launchers need. A test of one that is not installed is skipped, and says so; CI requires all of them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TRAIN = ROOT / "scripts" / "train"
BIN = Path(sys.executable).parent
REQUIRED = "CLUSTERCTL_LAUNCHERS"  # `required` where everything has been installed


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.launchers)
            item.add_marker(pytest.mark.slow)


def is_there(name: str) -> bool:
    """A program on PATH or beside the interpreter, a module of it, or `namespaces` of one's own."""
    if name == "namespaces":
        tried = ["unshare", "--net", "--mount", "--pid", "--uts", "--fork", "true"]
        return (
            bool(shutil.which("unshare") and shutil.which("ip")) and subprocess.run(tried, check=False).returncode == 0
        )
    return bool(shutil.which(name) or (BIN / name).exists() or importlib.util.find_spec(name))


@pytest.fixture
def needs() -> Callable[..., None]:
    """Skip without what is named, or fail where it must be there."""

    def check(*names: str) -> None:
        missing = [name for name in names if not is_there(name)]
        if missing and os.environ.get(REQUIRED) == "required":
            pytest.fail(f"{', '.join(missing)} must be installed here: scripts/install_launchers.sh")
        if missing:
            pytest.skip(f"{', '.join(missing)} not installed: scripts/install_launchers.sh")

    return check
