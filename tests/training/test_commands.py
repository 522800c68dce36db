"""`train`, `verify --fabric` and `deploy-all --train` as a user meets them, on one sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusterctl.cli.main import main
from clusterctl.errors import UsageError
from clusterctl.wiring.training import measures, refuse_without_operator


def test_a_workload_without_its_operator_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(UsageError) as caught:
        refuse_without_operator("mpi-allreduce", ("ray",))
    assert caught.value.hint == "--with ray,mpi"
    refuse_without_operator("mpi-allreduce", ("mpi",))
    refuse_without_operator("job-allreduce", ())


def test_measurements_are_interleaved() -> None:
    assert measures(2, efa=True) == (("efa", 1), ("tcp", 1), ("efa", 2), ("tcp", 2))
    assert measures(0, efa=True) == (("efa", 1),)
    assert measures(0, efa=False) == (("default", 1),)
    with pytest.raises(UsageError):
        measures(3, efa=False)


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_deployment_ends_with_training_and_a_fabric_that_falls_back_is_told_everywhere(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy-all", "--sandbox", "-y", "-o", "json", "--train", "job-allreduce"]) == 0
    deployed = document(capsys)
    assert (deployed["ok"], deployed["train"]["verdict"]) == (True, "efa")
    assert deployed["train"]["metrics"]["bus_bandwidth"]["share"] > 0.5
    assert main(["verify", "--sandbox", "--fabric", "-o", "json"]) == 0
    assert next(one for one in document(capsys)["checks"] if one["id"] == "fabric")["ok"]
    assert main(["train", "job-allreduce", "--sandbox", "--benchmark", "--repeats", "2", "-o", "json"]) == 0
    measured = document(capsys)["benchmark"]
    assert measured["ratio"] > 1.5
    assert [run["proved"] for run in measured["runs"]] == ["efa", "tcp", "efa", "tcp"]
    main(["sandbox", "fault", "--on", "kube:rank/1", "--outcome", "sockets"])
    capsys.readouterr()
    assert main(["train", "job-allreduce", "--sandbox", "-o", "json"]) == 11
    fallen = document(capsys)
    assert (fallen["ok"], fallen["verdict"], fallen["error"]["kind"]) == (False, "mixed", "fabric")
    assert [node["transport"] for node in fallen["nodes"]] == ["efa", "tcp"]
    assert main(["verify", "--sandbox", "--fabric", "-o", "json"]) == 11
    assert document(capsys)["checks"][-1]["id"] == "fabric"
    assert main(["train", "job-allreduce", "--sandbox", "--status", "-o", "json"]) == 0
    assert document(capsys)["job"]["state"] == "succeeded"
    assert main(["train", "job-allreduce", "--sandbox", "--delete", "-o", "json"]) == 0
    assert document(capsys)["deleted"] == ["job-allreduce"]


@pytest.mark.parametrize(
    "words",
    [
        ["train", "no-such-workload", "--sandbox"],
        ["train", "job-allreduce", "--status", "--delete", "--sandbox"],
        ["train", "job-allreduce", "--nodes", "0", "--sandbox"],
        ["train", "job-allreduce", "--benchmark", "--repeats", "1", "--sandbox"],
    ],
)
def test_a_wrong_call_is_one_clear_line(words: list[str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == UsageError.exit_code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert "Traceback" not in said.err
