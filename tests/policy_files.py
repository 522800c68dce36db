"""The policies of docs/iam as tests read them, and the page that explains them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "iam"
PAGE = (ROOT / "docs" / "permissions.md").read_text(encoding="utf-8")
POLICIES = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}
FREE = {"sts:GetCallerIdentity"}  # needs no permission
EKSCTL = {"eksctl-deploy", "eksctl-teardown"}
PREFIXES = {
    "efs": "elasticfilesystem",
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "service-quotas": "servicequotas",
}


def actions(name: str, policies: dict[str, Any] = POLICIES) -> set[str]:
    return {action for statement in policies[name]["Statement"] for action in statement["Action"]}


def explained() -> dict[tuple[str, str], str]:
    """(policy, action) -> why it is allowed though no rehearsal calls it."""
    rows = re.findall(r"^\| `([\w-]+)` \| ((?:`[\w:]+`,? ?)+) \| (.+) \|$", PAGE, re.MULTILINE)
    return {(name, action): why for name, listed, why in rows for action in re.findall(r"`([\w:]+)`", listed)}
