"""The placement file's text: what is written is read back, by us and by bash alike."""

from __future__ import annotations

import subprocess
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.errors import UsageError
from clusterctl.model.placement import KEYS, Placement, format_placement, parse_placement

WORDS = st.text("abcXYZ0189_./:@%+=,-", max_size=30)
TIMES = st.datetimes(datetime(2026, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
PLACEMENTS = st.builds(
    Placement, account_id=WORDS, region=WORDS, cluster_name=WORDS, gpu_az=WORDS, gpu_az_id=WORDS, gpu_subnet=WORDS,
    gpu_node_type=WORDS, gpu_node_count=st.integers(0, 10_000), gpu_nodegroup_name=WORDS,
    capacity_reservation_id=WORDS, capacity_source=WORDS, run_id=WORDS, kubeconfig=WORDS,
    expires_at=st.one_of(st.just(""), TIMES.map(lambda one: one.isoformat(timespec="seconds"))),
)  # fmt: skip
EXAMPLE = Placement(
    account_id="111122223333", region="us-east-2", cluster_name="training", gpu_az="us-east-2b", gpu_az_id="use2-az2",
    gpu_node_type="g6.12xlarge", gpu_node_count=2, gpu_nodegroup_name="gpu", expires_at="2026-11-30T16:00:00+00:00",
    kubeconfig="/home/ada/.local/state/clusterctl/kubeconfigs/us-east-2-training",
)  # fmt: skip
HEAD = "CLUSTERCTL_STATE=1\n"


def read(text: str) -> Placement:
    return parse_placement(text, ".placement.env")


@given(PLACEMENTS)
def test_what_is_written_is_read_back(placement: Placement) -> None:
    assert read(format_placement(placement)) == placement


@settings(max_examples=20, deadline=None)
@given(PLACEMENTS)
def test_bash_reads_the_same_values(placement: Placement) -> None:
    text = format_placement(placement)
    told = subprocess.run(
        ["bash", "-c", "set -a; . /dev/stdin; env"], input=text, capture_output=True, text=True, check=True, env={}
    ).stdout
    seen = dict(line.split("=", 1) for line in told.splitlines() if line.split("=", 1)[0] in KEYS)
    assert seen == {"CLUSTERCTL_STATE": "1"} | {key.upper(): str(value) for key, value in asdict(placement).items()}


def test_a_file_on_disk_can_be_sourced_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / ".placement.env"
    file.write_text(format_placement(EXAMPLE))
    command = 'set -a; . "$1"; printf "%s %s %s" "$GPU_AZ" "$GPU_NODE_COUNT" "$EXPIRES_AT"'
    told = subprocess.run(["bash", "-c", command, "bash", str(file)], capture_output=True, text=True, check=True)
    assert told.stdout == "us-east-2b 2 2026-11-30T16:00:00+00:00"


def test_every_line_is_a_key_of_the_contract() -> None:
    assert [line.split("=", 1)[0] for line in format_placement(EXAMPLE).splitlines()] == [
        "CLUSTERCTL_STATE", "ACCOUNT_ID", "REGION", "CLUSTER_NAME", "GPU_AZ", "GPU_AZ_ID", "GPU_SUBNET",
        "GPU_NODE_TYPE", "GPU_NODE_COUNT", "GPU_NODEGROUP_NAME", "CAPACITY_RESERVATION_ID", "CAPACITY_SOURCE",
        "RUN_ID", "EXPIRES_AT", "KUBECONFIG",
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["a b", "$(id)", "`id`", "a;b", "a'b", 'a"b', "a\nb", "a#b", "a\\b", "~/x", "é"])
def test_what_shells_read_differently_is_neither_written_nor_read(value: str) -> None:
    with pytest.raises(UsageError, match="KUBECONFIG has a character that shells read differently"):
        format_placement(replace(EXAMPLE, kubeconfig=value))
    with pytest.raises(UsageError):
        read(f"{HEAD}KUBECONFIG={value}\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("GPU_ZONE=us-east-2a", "line 2: unknown key GPU_ZONE"),
        ("not a line", "line 2 is not KEY=value"),
        ("GPU_NODE_COUNT=two", "GPU_NODE_COUNT is 'two', not a number"),
        ("GPU_NODE_COUNT=-1", "GPU_NODE_COUNT is '-1', not a number"),
        ("EXPIRES_AT=tomorrow", "EXPIRES_AT is not a date: 'tomorrow'"),
        ("EXPIRES_AT=2026-11-30T16:00:00", "EXPIRES_AT says no time zone"),
    ],
)
def test_a_line_that_is_wrong_is_named(line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        read(f"{HEAD}{line}\n")
    assert ".placement.env" in caught.value.message


def test_a_misspelt_key_is_answered_with_the_right_one() -> None:
    with pytest.raises(UsageError) as caught:
        read(f"{HEAD}GPU_NODE_TYP=g6.12xlarge\n")
    assert caught.value.hint == "did you mean GPU_NODE_TYPE?"


@pytest.mark.parametrize("text", ["", "REGION=us-east-2\n", "CLUSTERCTL_STATE=2\nREGION=us-east-2\n"])
def test_a_file_of_another_version_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a placement file of this version") as caught:
        read(text)
    assert "clusterctl status --adopt" in caught.value.hint


def test_comments_exports_quotes_and_windows_line_ends_are_read() -> None:
    text = "# where\r\n\r\nexport CLUSTERCTL_STATE=1\r\nREGION='us-east-2'\r\nGPU_AZ=\"us-east-2a\"\r\nRUN_ID=\r\n"
    assert read(text) == Placement(region="us-east-2", gpu_az="us-east-2a")


def test_an_expiry_is_a_moment_with_its_zone() -> None:
    assert EXAMPLE.expiry == datetime(2026, 11, 30, 16, tzinfo=UTC)
    assert Placement().expiry is None
