"""Where charts come from: their own repositories, or a folder of the user's."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from clusterctl.errors import UsageError
from clusterctl.model.components import same_version
from clusterctl.model.kube import Chart, Manifest


class ChartSource(Protocol):
    """Says how helm is told of a chart, and kustomize of a published manifest."""

    def locate(self, chart: Chart) -> tuple[str, ...]: ...
    def manifest(self, manifest: Manifest) -> str:
        """An address or a path."""


class RemoteCharts:
    """Charts from the repositories and registries that publish them."""

    def locate(self, chart: Chart) -> tuple[str, ...]:
        if chart.repository.startswith("oci://"):
            return (f"{chart.repository}/{chart.name}", "--version", chart.version)
        return (chart.name, "--repo", chart.repository, "--version", chart.version)

    def manifest(self, manifest: Manifest) -> str:
        return manifest.url


class FolderCharts:
    """Charts of a folder: unpacked, or as `.tgz`, for places without a way to the repositories."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def locate(self, chart: Chart) -> tuple[str, ...]:
        """Raises UsageError where the folder lacks the chart, or has it in other versions only."""
        found = {path: version for path, name, version in self._charts() if name == chart.name}
        for path, version in found.items():
            if same_version(version, chart.version):
                return (str(path),)
        if found:
            raise UsageError(
                f"{self._folder} has {chart.name} {', '.join(sorted(found.values()))}, {chart.version} is wanted",
                hint=f"put {chart.name}-{chart.version}.tgz there, or set the version to the one that is there",
            )
        raise UsageError(f"{self._folder} has no chart {chart.name}", hint=_pull(chart, self._folder))

    def manifest(self, manifest: Manifest) -> str:
        """Raises UsageError where the folder lacks `NAME-VERSION.yaml`."""
        path = self._folder / f"{manifest.name}-{manifest.version}.yaml"
        if path.is_file():
            return str(path)
        others = ", ".join(sorted(one.name for one in self._folder.glob(f"{manifest.name}-*.yaml")))
        raise UsageError(
            f"{self._folder} has no {path.name}" + (f", but {others}" if others else ""),
            hint=f"curl -fsSLo {path} {manifest.url}",
        )

    def _charts(self) -> Iterable[tuple[Path, str, str]]:
        if not self._folder.is_dir():
            raise UsageError(f"{self._folder} is no folder of charts", hint="set CLUSTERCTL_CHARTS to one, or unset it")
        for path in sorted(self._folder.iterdir()):
            if about := _about(path):
                yield path, str(about.get("name", "")), str(about.get("version", ""))


def _about(path: Path) -> dict[str, Any]:
    """What a chart's Chart.yaml says; empty for what is no chart."""
    import yaml

    if (path / "Chart.yaml").is_file():
        text: str | bytes = (path / "Chart.yaml").read_text()
    elif path.name.endswith(".tgz"):
        text = _packed(path)
    else:
        return {}
    try:
        return dict(yaml.safe_load(text) or {})
    except (yaml.YAMLError, ValueError) as problem:
        raise UsageError(f"{path} has a Chart.yaml that is no YAML: {str(problem).splitlines()[0]}") from problem


def _packed(path: Path) -> bytes:
    try:
        with tarfile.open(path) as archive:
            name = next((one for one in archive.getnames() if one.count("/") == 1 and one.endswith("/Chart.yaml")), "")
            member = archive.extractfile(name) if name else None
            return member.read() if member else b""
    except (tarfile.TarError, OSError) as problem:
        raise UsageError(f"{path} is no chart archive: {problem}", hint="pull it again with helm pull") from problem


def _pull(chart: Chart, folder: Path) -> str:
    return f"helm pull {' '.join(RemoteCharts().locate(chart))} --destination {folder}"
