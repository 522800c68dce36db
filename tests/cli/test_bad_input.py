"""What cannot be right is said in one clear line with a hint, by its exit code, and nothing is made of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.program import LocalWorld, Program, Ran

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

DEPLOY = ("deploy-all", "-y")
STAGES = ("probe", "cluster", "nodegroup", "plugins", "kuberay", "verify")
FOREIGN = "CLUSTERCTL_STATE=1\nACCOUNT_ID=210987654321\nREGION=us-east-2\nCLUSTER_NAME=training\n"


@pytest.fixture(autouse=True)
def nothing_made(world: LocalWorld) -> Iterator[None]:
    """Whatever a test asks for here, AWS is as it was, and no call was made that could have changed it."""
    world.forget_calls()
    before = world.aws()
    yield
    assert world.mutations() == []
    assert world.aws() == before


def refused(ran: Ran, code: int, *words: str) -> None:
    """One `error:` line, one `hint:` line, all of the words in them, and no stage that has done anything."""
    lines = [line for line in ran.stderr.splitlines() if line.startswith(("error: ", "hint: ", "Traceback"))]
    assert ran.code == code, ran.stderr
    assert [line.split(": ")[0] for line in lines] == ["error", "hint"], ran.stderr
    assert set(ran.stdout.split()) <= {*STAGES, "failed", "skipped"}
    assert "Traceback" not in ran.stderr
    for word in words:
        assert word in "\n".join(lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-t", "p5.46xlarge"), ("p5.46xlarge", "did you mean p5.4")),
        (("-t", "m5.large"), ("m5.large", "no GPU", "g6.12xlarge")),
        (("-t", "g6.xlarge"), ("g6.xlarge", "EFA")),
        (("-r", "us-esat-2"), ("no region us-esat-2", "did you mean us-east-2")),
        (("-r", "us-east-2,eu-centrl-1"), ("eu-centrl-1", "eu-central-1")),
        (("-r", "ap-east-1"), ("ap-east-1 is not enabled", "enable-region")),
        (
            ("-r", "us-west-2", "-t", "p6-b200.48xlarge", "--azs", "usw2-az3"),
            ("(usw2-az3) does not offer p6-b200.48xlarge", "choose from us-west-2"),
        ),
        (
            ("-r", "us-east-1", "-t", "p5.48xlarge", "--azs", "use1-az3"),
            ("EKS cannot run in us-east-1", "choose from us-east-1"),
        ),
        (("--azs", "us-east-2x"), ("no zone us-east-2x", "did you mean us-east-2")),
        (("--azs", "us-west-2a"), ("us-west-2a is in us-west-2", "-r us-west-2")),
        (("-n", "0"), ("GPU_NODE_COUNT cannot be 0", "the command line")),
        (("-n", "-1"), ("GPU_NODE_COUNT cannot be -1", "the command line")),
        (("-n", "two"), ("--nodes", "integer", "--help")),
        (("--cluster-name", "my_cluster"), ("'my_cluster'", "letters, digits and hyphens")),
        (("--cluster-name", "1st"), ("'1st'", "begin with a letter")),
        (("--cluster-name", "c" * 101), ("101 characters", "shorter")),
        (("--with", "ray,slrm"), ("'slrm'", "did you mean slurm")),
        (("--with", "flux"), ("'flux'", "ray")),
        (("--ttl", "soon"), ("'soon' is not a duration", "4h")),
        (("--max-hourly-usd", "5"), ("USD an hour is more than --max-hourly-usd 5", "fewer or smaller nodes")),
        (("--max-hourly-usd", "0"), ("MAX_HOURLY_USD cannot be 0", "the command line")),
        (("-o", "xml"), ("xml", "--help")),
        (("--regions",), ("--regions", "--help")),
        (("--region", "us-east-2", "--region-name", "x"), ("--region-name", "--help")),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_a_wrong_argument_is_a_usage_error(
    sandboxed: Program, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused(sandboxed(*DEPLOY, *arguments), 2, *words)
    assert sandboxed.files == []


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"GPU_NODE_COUNT": "0"}, ("GPU_NODE_COUNT", "the environment")),
        ({"CLUSTER_NAME": "c" * 70, "GPU_NODEGROUP_NAME": "n" * 60}, ("stack name", "the limit is 128")),
        ({"GPU_NODEGROUP_NAME": "gpu_nodes"}, ("GPU_NODEGROUP_NAME", "letters, digits and hyphens")),
        ({"GPUS_PER_NODE": "8"}, ("GPUS_PER_NODE is 8", "has 4")),
        ({"K8S_VERSION": "latest"}, ("K8S_VERSION", "the environment")),
        ({"CAPACITY_RESERVATION_ID": "cr-1"}, ("CAPACITY_RESERVATION_ID", "the environment")),
        ({"CAPACITY_RESERVATION_ID": "cr-0123456789abcdef0"}, ("no reservation cr-0123456789abcdef0", "-r")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_a_wrong_setting_is_a_usage_error(sandboxed: Program, environ: dict[str, str], words: tuple[str, ...]) -> None:
    refused(sandboxed(*DEPLOY, **environ), 2, *words)
    assert sandboxed.files == []


@pytest.mark.parametrize("command", ["deploy-all", "probe", "cluster", "nodegroup", "plugins", "kuberay", "verify"])
def test_every_command_refuses_a_wrong_setting_alike(sandboxed: Program, command: str) -> None:
    refused(sandboxed(command, GPU_NODE_COUNT="0"), 2, "GPU_NODE_COUNT")
    assert sandboxed.files == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CLUSTERCTL_STATE=1\nREGION\n", (".placement.env",)),
        ("CLUSTERCTL_STATE=99\nREGION=us-east-2\n", (".placement.env", "version", "--adopt")),
        ("CLUSTERCTL_STATE=1\nREGON=us-east-2\n", ("REGON", "REGION")),
        ("CLUSTERCTL_STATE=1\nGPU_NODE_COUNT=many\n", ("GPU_NODE_COUNT",)),
        ("\x00\x01", (".placement.env",)),
        (FOREIGN, ("210987654321", "123456789012")),
    ],
    ids=["no value", "newer", "misspelt", "no number", "no text", "another account"],
)
@pytest.mark.parametrize("command", [DEPLOY, ("status",), ("teardown", "-y")], ids=lambda words: words[0])
def test_a_placement_file_that_cannot_be_ours_is_refused_and_left_alone(
    sandboxed: Program, command: tuple[str, ...], text: str, words: tuple[str, ...]
) -> None:
    file = sandboxed.folder / ".placement.env"
    file.write_text(text)
    refused(sandboxed(*command), 2, *words)
    assert file.read_text() == text
    assert sandboxed.files == [".placement.env"]


@pytest.mark.parametrize("command", ["deploy-all", "cluster", "nodegroup", "plugins", "kuberay", "teardown"])
def test_without_a_terminal_there_is_no_question(sandboxed: Program, command: str) -> None:
    refused(sandboxed(command), 2, "nobody is here to answer", "--yes")
    assert sandboxed.files == []


@pytest.mark.parametrize("command", ["deploy-all", "probe", "cluster", "status", "verify", "teardown"])
def test_expired_and_wrong_credentials_are_no_usage_error(sandboxed: Program, command: str) -> None:
    for key in ("AKIAEXPIRED000000000", "AKIAWRONG00000000000"):
        yes = () if command in ("probe", "status", "verify") else ("-y",)
        refused(sandboxed(command, *yes, CLUSTERCTL_SANDBOX_ACCESS_KEY=key), 6)
    assert sandboxed.files == []


@pytest.mark.parametrize("command", ["deploy-all", "probe", "cluster", "status", "verify", "teardown"])
def test_without_credentials_a_command_says_where_to_get_them(bare: Program, command: str) -> None:
    yes = () if command in ("probe", "status", "verify") else ("-y",)
    refused(bare(command, *yes), 6, "credentials")
    assert bare.files == []


@pytest.mark.parametrize(
    ("program", "command"),
    [("eksctl", "deploy-all"), ("helm", "deploy-all"), ("kubectl", "deploy-all"), ("eksctl", "cluster")],
)
def test_an_old_program_is_met_before_anything_is_made(
    sandboxed: Program, world: LocalWorld, program: str, command: str
) -> None:
    place = world.state.bin / program
    before = place.read_text() if place.exists() else None
    place.write_text("#!/bin/sh\necho v0.1.2\n")
    place.chmod(0o700)
    try:
        refused(sandboxed(command, "-y"), 7, f"{program} is 0.1.2", "or newer")
    finally:
        if before is None:
            place.unlink()
        else:
            place.write_text(before)
    assert sandboxed.files == []


def test_a_missing_program_is_met_before_anything_is_made(sandboxed: Program, world: LocalWorld) -> None:
    eksctl = world.state.bin / "eksctl"
    away = eksctl.rename(eksctl.with_name("away"))
    try:
        refused(sandboxed(*DEPLOY, PATH="/nowhere"), 7, "eksctl is not installed", "https://eksctl.io")
    finally:
        away.rename(eksctl)
    assert sandboxed.files == []


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        ((*DEPLOY, "-t", "m5.large"), "usage", 2),
        ((*DEPLOY, "-n", "0"), "usage", 2),
        ((*DEPLOY, "-n", "two"), "usage", 2),
        (("deploy-all",), "usage", 2),
        (("status", "--placement", "missing/folder/x.env", "--nonsense"), "usage", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_json_readers_get_one_document_with_the_error(
    sandboxed: Program, arguments: tuple[str, ...], kind: str, code: int
) -> None:
    ran = sandboxed(*arguments, "-o", "json")
    document = ran.document
    assert ran.code == code
    assert document["schema"] == f"clusterctl/{arguments[0]}/v1"
    assert document["ok"] is False
    error = document["error"]
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert error["message"]
    assert error["hint"]
    assert f"error: {error['message']}\nhint: {error['hint']}\n" in ran.stderr


def test_json_readers_get_the_access_error_of_an_expired_key(sandboxed: Program) -> None:
    ran = sandboxed(*DEPLOY, "-o", "json", CLUSTERCTL_SANDBOX_ACCESS_KEY="AKIAEXPIRED000000000")
    assert (ran.code, ran.document["error"]["kind"], ran.document["error"]["exit_code"]) == (6, "access", 6)


def test_a_project_file_is_held_to_the_same_rules(sandboxed: Program) -> None:
    file: Path = sandboxed.folder / "clusterctl.toml"
    for text, words in (
        ("gpu_node_cuont = 4\n", ("GPU_NODE_CUONT", "GPU_NODE_COUNT")),
        ("gpu =\n", ("clusterctl.toml",)),
    ):
        file.write_text(text)
        refused(sandboxed(*DEPLOY), 2, *words)
    assert json.dumps(sandboxed.files) == '["clusterctl.toml"]'


@pytest.mark.parametrize(
    "arguments",
    [("teardown", "-y", "--cluster-name", ""), ("teardown", "-y", "--cluster-name="), ("deploy-all", "-y", "-r", "")],
    ids=" ".join,
)
def test_the_unset_variable_of_a_script_does_not_mean_the_default(
    sandboxed: Program, arguments: tuple[str, ...]
) -> None:
    refused(sandboxed(*arguments), 2, "is empty", "leave it out")


@pytest.mark.parametrize("stage", ["nodegroup", "plugins", "kuberay"])
def test_a_stage_without_what_it_stands_on_writes_nothing_down(sandboxed: Program, stage: str) -> None:
    refused(
        sandboxed(stage, "-y", "--cluster-name", "nosuch"), 1, "stage cluster is not complete", "clusterctl cluster"
    )
    assert sandboxed.files == []
