"""`clusterctl render` against the sandbox: what it writes is what the executor would be given, and nothing is made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cli_sandbox import CommandLine, command_line
from clusterctl.adapters.rendered_folder import MARKER
from clusterctl.engine.actions import CreateCluster, CreateNodegroup, InstallRelease
from clusterctl.model.cluster import TAG_RUN
from clusterctl.model.kube import Chart
from clusterctl.wiring.bench import Ask, Bench, open_bench

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]
ALL = ("--with", "ray,slurm,volcano,mpi", "--repo", "https://git.example.com/ml.git", "--repo-path", "gpu")
READS = ("Describe", "Get", "List", "Search")


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    with command_line(tmp_path_factory.mktemp("home")) as found:
        found.run("sandbox", "start")
        yield found


def held(folder: Path) -> dict[str, str]:
    return {one.relative_to(folder).as_posix(): one.read_text() for one in folder.rglob("*") if one.is_file()}


def configs(files: dict[str, str]) -> dict[str, Any]:
    return {path: yaml.safe_load(text) for path, text in files.items() if path.startswith("eksctl/")}


def without_run(config: Any) -> Any:
    """A config without the mark in which two runs differ."""
    if isinstance(config, dict):
        return {key: without_run(value) for key, value in config.items() if key != TAG_RUN}
    return [without_run(one) for one in config] if isinstance(config, list) else config


def test_the_same_input_gives_the_same_bytes_and_makes_nothing(line: CommandLine) -> None:
    line.calls()
    document = line.document("render", "one", *ALL)
    made = [call["action"] for call in line.calls() if not call["action"].startswith(READS)]
    line.run("render", "two", *ALL)
    one, two = held(line.home / "one"), held(line.home / "two")
    assert made == []
    assert one == two
    assert (document["schema"], document["ok"]) == ("clusterctl/render/v1", True)
    assert {file["path"] for file in document["files"]} | {MARKER} == set(one)
    assert not (line.home / ".placement.env").exists()
    assert all(list(yaml.safe_load_all(text)) for text in one.values())


def test_both_eksctl_configs_are_accepted_by_its_schema(line: CommandLine) -> None:
    if "CLUSTERCTL_SCHEMAS" not in os.environ:
        pytest.skip("CLUSTERCTL_SCHEMAS names the folder with eksctl's schema")
    schema = json.loads((Path(os.environ["CLUSTERCTL_SCHEMAS"]) / "eksctl.io-v1alpha5.json").read_text())
    line.run("render", "checked")
    found = configs(held(line.home / "checked"))
    assert set(found) == {"eksctl/cluster.yaml", "eksctl/nodegroup.yaml"}
    for config in found.values():
        jsonschema.validate(config, schema)


@pytest.fixture
def bench(line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """What deploy-all works with, in this process."""
    for name in ("HOME", "CLUSTERCTL_SANDBOX_DIR", "CLUSTERCTL_SANDBOX"):
        monkeypatch.setenv(name, line.environ[name])
    monkeypatch.chdir(line.home)
    ask = Ask("deploy-all", sandbox=True, placement=Path(".placement.env"), flags={"OPERATORS": ALL[1]})
    with open_bench(ask) as found:
        yield found


def test_what_is_rendered_is_what_the_executor_would_be_given(line: CommandLine, bench: Bench) -> None:
    line.run("render", "compared", *ALL)
    files = held(line.home / "compared")
    actions = [action for plan in bench.preview(bench.deployment) for action in plan.plan]
    given = {
        path: without_run(yaml.safe_load(action.config))
        for path, kind in (("eksctl/cluster.yaml", CreateCluster), ("eksctl/nodegroup.yaml", CreateNodegroup))
        for action in actions
        if isinstance(action, kind)
    }
    releases = [action for action in actions if isinstance(action, InstallRelease)]
    values = {
        f"values/{one.component.name}.yaml": one.values
        for one in releases
        if isinstance(one.component.chart, Chart) and one.values
    }
    assert without_run(configs(files)) == given
    assert {path: text for path, text in files.items() if path.startswith("values/")} == values
    assert {f"argocd/{one.component.name}.yaml" for one in releases} == {
        path for path in files if path.startswith("argocd/")
    }
    assert len(releases) > len(values) > 0


def test_a_placement_that_is_remembered_says_zone_run_and_expiry(line: CommandLine) -> None:
    placement = line.home / "other.env"
    words = ("--no-probe", "--save", "--azs", "us-east-2c", "--placement", str(placement))
    line.run("probe", *words, environ={"TTL": "6h"})
    said = dict(row.split("=", 1) for row in placement.read_text().splitlines())
    line.run("render", "placed", "--placement", str(placement))
    group = configs(held(line.home / "placed"))["eksctl/nodegroup.yaml"]["managedNodeGroups"][0]
    assert group["availabilityZones"] == ["us-east-2c"] == [said["GPU_AZ"]]
    assert (group["tags"][TAG_RUN], group["tags"]["clusterctl:expires-at"]) == (said["RUN_ID"], said["EXPIRES_AT"])


def test_a_remembered_place_that_is_not_asked_for_is_left_with_a_notice(line: CommandLine) -> None:
    placement = line.home / "left.env"
    line.run("probe", "--no-probe", "--save", "--azs", "us-east-2c", "--placement", str(placement))
    done = line.run("render", "left", "--azs", "us-east-2a", "--placement", str(placement))
    group = configs(held(line.home / "left"))["eksctl/nodegroup.yaml"]["managedNodeGroups"][0]
    assert group["availabilityZones"] == ["us-east-2a"]
    assert "the placement file names us-east-2c" in done.stderr


def test_a_time_to_live_that_no_file_can_hold_is_said(line: CommandLine) -> None:
    done = line.run("render", "timed", environ={"TTL": "6h"})
    assert "no file says when the cluster expires" in done.stderr
    assert "clusterctl:expires-at" not in "".join(held(line.home / "timed").values())


def test_without_a_repository_what_has_no_application_is_named(line: CommandLine) -> None:
    document = line.document("render", "alone", "--with", "ray,mpi")
    assert [one for one in document["notices"] if "mpi has no Argo CD Application" in one]
    assert not (line.home / "alone" / "argocd" / "mpi.yaml").exists()
    assert (line.home / "alone" / "argocd" / "kuberay.yaml").exists()


@pytest.mark.parametrize("words", [("--repo-path", "gpu"), ("--repo", "https://x.example.com", "--repo-path", "../x")])
def test_a_path_that_is_in_no_repository_is_refused(words: tuple[str, ...], line: CommandLine) -> None:
    assert "hint:" in line.run("render", "refused", *words, code=2).stderr
    assert not (line.home / "refused").exists()


def test_the_folder_that_holds_other_files_is_refused(line: CommandLine) -> None:
    (line.home / "theirs").mkdir()
    (line.home / "theirs" / "main.tf").write_text("theirs")
    document = line.document("render", "theirs", code=2)
    assert document["error"]["kind"] == "usage"
    assert held(line.home / "theirs") == {"main.tf": "theirs"}
