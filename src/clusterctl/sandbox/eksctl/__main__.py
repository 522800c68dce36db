"""`python -m clusterctl.sandbox.eksctl`."""

from __future__ import annotations

import sys

from clusterctl.sandbox.eksctl.cli import run

sys.exit(run(sys.argv[1:]))
