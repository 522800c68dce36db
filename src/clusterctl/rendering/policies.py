"""The IAM policies of docs/iam, which are also what `doctor` asks about."""

from __future__ import annotations

import json
from pathlib import Path

from clusterctl.model.permissions import Grant, read_policy
from clusterctl.rendering.templates import template_root

USES: dict[str, tuple[str, ...]] = {  # what somebody wants to do -> the policies that it takes
    "plan": ("plan",),
    "deploy": ("plan", "deploy", "eksctl-deploy", "eksctl-teardown"),
    "teardown": ("plan", "teardown", "eksctl-teardown"),
}


def policy_file(name: str) -> Path:
    """Where a policy is: in docs/iam of the checkout, or inside an installed package."""
    root = template_root()
    folder = root / "docs" / "iam" if (root / "docs").is_dir() else root / "iam"
    return folder / f"{name}.json"


def policy(name: str) -> tuple[Grant, ...]:
    """What one policy grants."""
    return read_policy(json.loads(policy_file(name).read_text(encoding="utf-8")))
