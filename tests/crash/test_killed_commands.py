"""The real command, killed with SIGKILL: the next one ends as if nothing had happened, and no reservation is left."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterctl.adapters.orphans import MARK
from real_cli import DEPLOY, TEARDOWN, Ended, RealCli, real_cli

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(3600)]
KILLINGS = int(os.environ.get("KILLINGS", "1"))
SEED = int(os.environ.get("KILLINGS_SEED", "20261130"))
LONGEST_S = 14.0  # about as long as an undisturbed deployment takes


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCli]:
    with real_cli(tmp_path_factory.mktemp("killed")) as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(cli: RealCli) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    """World and placement file after a deployment that nobody disturbs; the world is empty again after it."""
    assert_verified(cli, cli.run(*DEPLOY))
    seen = cli.world(), cli.placed()
    assert_gone(cli, cli.run(*TEARDOWN))
    return seen


Undisturbed = tuple[dict[str, dict[str, int]], dict[str, str]]


def assert_verified(cli: RealCli, ended: Ended) -> None:
    assert ended.code == 0, ended.err[-3000:]
    assert ended.document["verification"]["totals"]["gpus"] == 8
    assert not cli.journal.exists()
    assert_no_reservation(cli)
    assert orphans(cli) == []


def assert_gone(cli: RealCli, ended: Ended) -> None:
    assert ended.code == 0, ended.err[-3000:]
    assert {region: kinds for region, kinds in cli.world().items() if set(kinds) & COSTLY} == {}
    assert (cli.placed(), cli.journal.exists()) == ({}, False)
    assert_no_reservation(cli)


COSTLY = {"clusters", "nodegroups", "instances", "stacks", "nat_gateways", "volumes", "autoscaling_groups"}


def assert_no_reservation(cli: RealCli) -> None:
    assert {region: kinds for region, kinds in cli.world().items() if "capacity_reservations" in kinds} == {}


def orphans(cli: RealCli) -> list[str]:
    """Children of any run in this sandbox that are still there."""
    found, here = [], f"CLUSTERCTL_SANDBOX_DIR={cli.state.path}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ = (folder / "environ").read_bytes()
            ours = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if f"{MARK}=".encode() in environ and here in environ and b"eksctl" in ours:
            found.append(folder.name)
    return found


@pytest.mark.parametrize(
    ("moment", "effect"),
    [("crash_before", "CreateNodegroup"), ("crash_before", "CancelCapacityReservation")],
)
def test_a_deployment_that_is_killed_at_a_side_effect_ends_as_if_undisturbed(
    cli: RealCli, undisturbed: Undisturbed, moment: str, effect: str
) -> None:
    cli.fault(on="process:clusterctl", times=1, **{moment: effect})
    assert cli.run(*DEPLOY).code == -9
    assert f'"effect": "{effect}"' in cli.journal.read_text()
    assert_verified(cli, cli.run(*DEPLOY))
    assert (cli.world(), cli.placed()) == undisturbed
    cli.fault(on="process:clusterctl", times=1, crash_after="DeleteNodegroup")
    assert cli.run(*TEARDOWN).code == -9
    assert_gone(cli, cli.run(*TEARDOWN))


def test_a_deployment_that_is_killed_at_any_moment_ends_as_if_undisturbed(
    cli: RealCli, undisturbed: Undisturbed
) -> None:
    choice = random.Random(SEED)
    for number in range(KILLINGS):
        moments = [choice.uniform(0.5, LONGEST_S) for _ in range(2)]
        cli.killed_after(moments[0], DEPLOY)
        ended = cli.run(*DEPLOY)
        assert ended.code == 0, f"killing {number} after {moments[0]:.2f} s: {ended.err[-3000:]}"
        assert_verified(cli, ended)
        assert (cli.world(), cli.placed()) == undisturbed, f"killing {number} after {moments[0]:.2f} s"
        cli.killed_after(moments[1] / 2, TEARDOWN)
        assert_gone(cli, cli.run(*TEARDOWN))
