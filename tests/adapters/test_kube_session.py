"""How tools are called: what they are told, what they never are, and what is made of their failures."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clusterctl.adapters.charts import FolderCharts, RemoteCharts
from clusterctl.adapters.helm import Helm
from clusterctl.adapters.kubectl import Kubectl, items
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.process import HELM, KUBECTL, Tool
from clusterctl.errors import AccessError, ToolFailedError, UnreachableError, UsageError
from clusterctl.model.components import nvidia
from clusterctl.model.kube import Chart, KubeAccess, WorkloadRef
from clusterctl.model.settings import Settings

ACCESS = KubeAccess("us-east-2", "training", "https://example.eks", "-----BEGIN CERTIFICATE-----\n")
SECRET = "k8s-aws-v1.very-secret"
START = datetime(2026, 1, 1, tzinfo=UTC)
CHART = Chart("https://nvidia.github.io/k8s-device-plugin", "nvidia-device-plugin", "0.20.0")


class Scripted:
    """A stand-in program: keeps what it was called with, and answers with the words of a file."""

    def __init__(self, folder: Path, name: str, version: str, script: str) -> None:
        self.folder = folder
        self.calls = folder / f"{name}.calls"
        program = folder / name
        program.write_text(
            f'#!/bin/sh\nif [ "$1" = version ]; then echo {version}; exit 0; fi\n'
            f"printf '%s ' \"$@\" >> {self.calls}; echo >> {self.calls}\n"
            f'env > {folder}/env\ncp "$KUBECONFIG" {folder}/kubeconfig\n{script}\n'
        )
        program.chmod(0o755)

    @property
    def lines(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


class Passport:
    """Counts the credentials that it makes, each good for 14 minutes."""

    def __init__(self) -> None:
        self.made = 0
        self.now = START

    def __call__(self, access: KubeAccess) -> str:
        self.made += 1
        until = (self.now + timedelta(minutes=14)).isoformat()
        return json.dumps({"status": {"token": SECRET, "expirationTimestamp": until}})


@pytest.fixture
def passport() -> Passport:
    return Passport()


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def session(passport: Passport, slept: list[float], tmp_path: Path) -> KubeSession:
    return KubeSession(passport, tmp_path / "home", slept.append, lambda: passport.now)


def kubectl(folder: Path, session: KubeSession, script: str) -> tuple[Kubectl, Scripted]:
    program = Scripted(folder, "kubectl", "v1.37.1", script)
    return Kubectl(Tool(KUBECTL, {"PATH": os.environ["PATH"]}, [folder]), session), program


def test_the_token_is_in_the_environment_and_in_no_file_or_argument(tmp_path: Path, session: KubeSession) -> None:
    reader, program = kubectl(tmp_path, session, ":")
    assert reader.nodes(ACCESS) == ()
    assert SECRET in (tmp_path / "env").read_text()
    assert SECRET not in (tmp_path / "kubeconfig").read_text()
    assert SECRET not in "".join(program.lines)
    assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file() and SECRET in path.read_text()]


def test_the_kubeconfig_is_nobody_elses(tmp_path: Path, session: KubeSession) -> None:
    path = session.file("some.yaml", "text")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    session.close()
    assert not path.parent.exists()


def test_a_credential_is_made_once_and_again_two_minutes_before_it_ends(
    tmp_path: Path, session: KubeSession, passport: Passport
) -> None:
    reader, _ = kubectl(tmp_path, session, ":")
    for minutes, made in ((0, 1), (11, 1), (12, 2), (13, 2)):
        passport.now = START + timedelta(minutes=minutes)
        reader.nodes(ACCESS)
        assert passport.made == made, f"after {minutes} minutes"


def test_a_read_that_fails_in_passing_is_tried_again(tmp_path: Path, session: KubeSession, slept: list[float]) -> None:
    script = f"""
if [ "$(wc -l < {tmp_path}/kubectl.calls)" -lt 3 ]; then
  echo 'Unable to connect to the server: net/http: TLS handshake timeout' >&2; exit 1
fi"""
    reader, program = kubectl(tmp_path, session, script)
    assert reader.nodes(ACCESS) == ()
    assert len(program.lines) == 3
    assert slept == [2.0, 4.0]


def test_an_api_that_stays_away_is_unreachable_not_empty(tmp_path: Path, session: KubeSession) -> None:
    reader, program = kubectl(
        tmp_path, session, "echo 'The connection to the server x was refused: connection refused' >&2; exit 1"
    )
    with pytest.raises(UnreachableError, match="training"):
        reader.objects(ACCESS, "pods")
    assert len(program.lines) == 4


def test_a_token_that_is_not_taken_yet_is_made_anew_before_access_is_called_denied(
    tmp_path: Path, session: KubeSession, passport: Passport
) -> None:
    reader, _ = kubectl(
        tmp_path, session, "echo 'error: You must be logged in to the server (Unauthorized)' >&2; exit 1"
    )
    with pytest.raises(AccessError) as caught:
        reader.nodes(ACCESS)
    assert passport.made == 4
    assert "create-access-entry" in caught.value.hint


def test_a_missing_permission_is_said_at_once(tmp_path: Path, session: KubeSession) -> None:
    reader, program = kubectl(
        tmp_path, session, "echo 'Error from server (Forbidden): nodes is forbidden: User x' >&2; exit 1"
    )
    with pytest.raises(AccessError):
        reader.nodes(ACCESS)
    assert len(program.lines) == 1


def test_a_write_is_never_repeated(tmp_path: Path, session: KubeSession, slept: list[float]) -> None:
    writer, program = kubectl(tmp_path, session, "echo 'connection reset by peer' >&2; exit 1")
    with pytest.raises(UnreachableError):
        writer.apply(ACCESS, "kind: ConfigMap")
    assert len(program.lines) == 1
    assert slept == []


def test_every_call_has_a_time_out_and_writes_are_server_side(tmp_path: Path, session: KubeSession) -> None:
    writer, program = kubectl(tmp_path, session, "cat > /dev/null")
    writer.nodes(ACCESS)
    writer.apply(ACCESS, "kind: ConfigMap")
    writer.delete(ACCESS, WorkloadRef("DaemonSet", "kube-system", "plugin"))
    read, apply, delete = program.lines
    assert "--request-timeout=30s" in read
    assert "--server-side --force-conflicts" in apply
    assert "--wait=true --timeout=180s --ignore-not-found" in delete


def test_a_list_is_read_object_by_object() -> None:
    listed = [{"metadata": {"name": f"n{number}"}, "items": [number]} for number in range(50)]
    text = json.dumps({"apiVersion": "v1", "items": listed, "kind": "List"}, indent=4)
    assert list(items(text)) == listed
    assert list(items(json.dumps({"items": []}, indent=4))) == []
    assert list(items("")) == []


def test_values_reach_helm_in_a_private_file_and_helm_3_is_not_told_to_force(
    tmp_path: Path, session: KubeSession
) -> None:
    script = f"""
case "$*" in
  list*) echo '[]' ;;
  upgrade*) cp {"$(echo $* | sed 's/.*--values //; s/ .*//')"} {tmp_path}/values ;;
esac"""
    for version, forced in (("v3.18.4", False), ("v4.3.1", True)):
        helm, program = _helm(tmp_path, session, version, script)
        helm.install(ACCESS, nvidia(Settings()), "answer: 42\n")
        upgrade = program.lines[-1]
        assert ("--force-conflicts" in upgrade) is forced
        assert "--repo https://nvidia.github.io/k8s-device-plugin --version 0.20.0" in upgrade
        assert (tmp_path / "values").read_text() == "answer: 42\n"


def test_a_registry_chart_is_named_in_full() -> None:
    chart = Chart("oci://public.ecr.aws/neuron", "neuron-helm-chart", "1.10.0")
    assert RemoteCharts().locate(chart) == ("oci://public.ecr.aws/neuron/neuron-helm-chart", "--version", "1.10.0")


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_gives_the_chart_of_the_version_that_is_wanted(tmp_path: Path, packed: bool) -> None:  # noqa: FBT001
    where = _put_chart(tmp_path, "0.20.0", packed=packed)
    assert FolderCharts(tmp_path).locate(CHART) == (str(where),)


@pytest.mark.parametrize("packed", [False, True])
def test_another_version_in_the_folder_is_an_error_that_names_both(tmp_path: Path, packed: bool) -> None:  # noqa: FBT001
    _put_chart(tmp_path, "0.17.1", packed=packed)
    with pytest.raises(UsageError, match=r"0\.17\.1, 0\.20\.0 is wanted"):
        FolderCharts(tmp_path).locate(CHART)


def test_a_folder_without_the_chart_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("no chart")
    with pytest.raises(UsageError) as caught:
        FolderCharts(tmp_path).locate(CHART)
    assert "helm pull nvidia-device-plugin --repo" in caught.value.hint


def test_a_helm_that_fails_is_quoted(tmp_path: Path, session: KubeSession) -> None:
    script = "[ $1 = list ] && { echo '[]'; exit 0; }; echo 'Error: no such chart' >&2; exit 1"
    helm, _ = _helm(tmp_path, session, "v4.3.1", script)
    with pytest.raises(ToolFailedError, match="no such chart"):
        helm.install(ACCESS, nvidia(Settings()), "")


def _helm(folder: Path, session: KubeSession, version: str, script: str) -> tuple[Helm, Scripted]:
    program = Scripted(folder, "helm", version, script)
    no_kubectl = Kubectl(Tool(KUBECTL, {}), session)
    return Helm(Tool(HELM, {"PATH": os.environ["PATH"]}, [folder]), session, RemoteCharts(), no_kubectl), program


def _put_chart(folder: Path, version: str, *, packed: bool) -> Path:
    import tarfile

    chart = folder / ("source" if packed else "nvidia-device-plugin")
    chart.mkdir()
    (chart / "Chart.yaml").write_text(f"name: nvidia-device-plugin\nversion: {version}\n")
    if not packed:
        return chart
    path = folder / f"nvidia-device-plugin-{version}.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(chart / "Chart.yaml", "nvidia-device-plugin/Chart.yaml")
    (chart / "Chart.yaml").unlink()
    return path
