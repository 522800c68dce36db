"""The training code is a folder of programs, not a package: its modules are found beside each other."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts" / "train"))
collect_ignore: list[str] = []
WITHOUT_TORCH = {"test_ranks.py", "test_schedules.py", "test_stores.py", "test_recipes.py", "test_torch.py"}

if importlib.util.find_spec("torch") is None:
    if os.environ.get("CLUSTERCTL_LAUNCHERS") == "required":
        pytest.exit("torch must be installed here: scripts/install_launchers.sh", returncode=1)
    here = Path(__file__).parent
    collect_ignore += [one.name for one in here.glob("test_*.py") if one.name not in WITHOUT_TORCH]
