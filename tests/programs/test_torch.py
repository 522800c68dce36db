"""Says where tests of this folder are left out. Nothing is faked."""

from __future__ import annotations

import pytest


def test_torch_is_there_for_the_tests_that_need_it() -> None:
    reason = (
        "torch is not installed, and test_checkpoints.py and test_training.py are not run: scripts/install_launchers.sh"
    )
    torch = pytest.importorskip("torch", reason=reason)
    assert torch.distributed.is_available()
