"""`python -m clusterctl`."""

from __future__ import annotations

from clusterctl.cli.main import run

run()
