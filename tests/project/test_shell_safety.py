"""Nothing that comes from the environment, a file or the cloud reaches a shell as code."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterctl.adapters.aws.cancelling import cancel_command
from clusterctl.adapters.kubesession import CREDENTIAL, kubeconfig_without_secret
from clusterctl.model.kube import KubeAccess
from clusterctl.model.leftovers import ResourceKind, removal_command

SOURCES = sorted((Path(__file__).resolve().parents[2] / "src").rglob("*.py"))
SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "pty.spawn"}
EVIL = "a'b; rm -rf $HOME `id`"


def calls() -> Iterator[tuple[str, ast.Call]]:
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield file.name, node


def test_no_call_goes_through_a_shell() -> None:
    found = [(name, node) for name, node in calls()]
    assert len(found) > 1000
    assert [name for name, node in found if ast.unparse(node.func) in SHELLS] == []
    assert [name for name, node in found if any(one.arg == "shell" for one in node.keywords)] == []


def test_a_script_is_given_to_a_shell_in_one_place_and_holds_no_value() -> None:
    given = [
        (file.name, ast.unparse(node))
        for file in SOURCES for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.List | ast.Tuple) and node.elts
        and any(isinstance(one, ast.Constant) and one.value == "-c" for one in node.elts[:-1])
    ]  # fmt: skip
    assert sorted(given) == [
        ("kubesession.py", given[0][1]),
        ("ray.py", "['/bin/bash', '-c', '--']"),  # how KubeRay starts a container: its script is in `args`
        ("raytraining.py", "('bash', '-c', EVIDENCE)"),  # a constant
    ]
    user = kubeconfig_without_secret(KubeAccess("r", EVIL, EVIL, EVIL))["users"][0]["user"]["exec"]
    assert user["args"] == ["-c", f'printf %s "${CREDENTIAL}"']
    assert CREDENTIAL.isidentifier()


@pytest.mark.parametrize("kind", ResourceKind)
def test_a_command_that_is_printed_keeps_a_name_in_one_word(kind: ResourceKind) -> None:
    words = shlex.split(removal_command(kind, EVIL, "us-east-2"))
    assert words[0] == "aws"
    assert words.count(EVIL) == 1
    assert words[-2:] == ["--region", "us-east-2"]


def test_an_ordinary_name_is_printed_as_it_is() -> None:
    assert removal_command(ResourceKind.VOLUME, "vol-1", "eu-west-1").endswith("--volume-id vol-1 --region eu-west-1")
    assert shlex.split(cancel_command("eu-west-1", "cr-1"))[-1] == "cr-1"
