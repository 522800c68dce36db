"""No child process without a limit that is ours: by the signatures of all that starts one, and by the syntax trees."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import clusterctl
from clusterctl.adapters import eksctl
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.process import Tool
from clusterctl.engine.building import CREATE_LIMIT_S, OIDC_LIMIT_S
from clusterctl.model.launch import Patience

SRC = Path(clusterctl.__file__).parent
STARTERS = {"subprocess", "multiprocessing", "pty", "sh"}
OS_STARTERS = {
    "system",
    "popen",
    "fork",
    "forkpty",
    "posix_spawn",
    "posix_spawnp",
    "execv",
    "execve",
    "spawnv",
    "startfile",
}


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Everything of the program but the sandbox, whose processes are the local world itself."""
    for file in sorted(SRC.rglob("*.py")):
        path = str(file.relative_to(SRC))
        if not path.startswith("sandbox/"):
            yield path, ast.parse(file.read_text())


def starters(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.split(".")[0] in STARTERS)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in STARTERS:
            yield str(node.module)
        elif isinstance(node, ast.Attribute) and node.attr in OS_STARTERS and ast.unparse(node.value) == "os":
            yield f"os.{node.attr}"


def test_one_module_alone_starts_processes() -> None:
    assert {path: sorted(found) for path, tree in trees() if (found := set(starters(tree)))} == {
        "adapters/process.py": ["sh"]
    }


@pytest.mark.parametrize("start", [Tool.run, Tool.start, KubeSession.run, KubeSession.read, KubeSession.start])
def test_whoever_starts_a_child_has_to_name_its_limit(start: Callable[..., object]) -> None:
    limit = inspect.signature(start).parameters["timeout_s"]
    assert limit.kind is inspect.Parameter.KEYWORD_ONLY
    assert limit.default is inspect.Parameter.empty


def test_the_watch_beside_eksctl_ends_before_eksctl_s_own_limit() -> None:
    """So that the reason comes from AWS, with eksctl's last words, and not from a killed process."""
    patience = Patience()
    assert CREATE_LIMIT_S < eksctl.CREATE_CLUSTER_S
    assert OIDC_LIMIT_S < eksctl.OIDC_S
    assert patience.limit_s <= eksctl.CREATE_NODEGROUP_S
    assert patience.removal_s < eksctl.DELETE_CLUSTER_S
