"""Releases through the real helm: read as JSON, installed over whatever an earlier run has left."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from clusterctl.adapters.charts import ChartSource
from clusterctl.adapters.helm_faults import explained
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.process import Tool
from clusterctl.errors import ToolFailedError
from clusterctl.model.kube import Chart, Component, KubeAccess, ReleaseState
from clusterctl.ports import KubeWriter

READ_LIMIT_S = 60
HOOKS_LIMIT_S = 300
MARK = "managed-by=clusterctl"  # on the release's own record, where no chart and no values show it
STATUSES = ("--deployed", "--failed", "--pending", "--superseded", "--uninstalled", "--uninstalling")
ABSENT = "release: not found"
HELM_4 = (4, 0, 0)
_CHART = re.compile(r"(?P<name>.+?)-(?P<version>v?\d+\.\d+\.\d+.*)")
_HALF_UPGRADED = ("pending-upgrade", "pending-rollback")
_HALF_MADE = ("pending-install", "uninstalling")


class Helm:
    """Implements ports.ReleaseReader and ports.Releases; `kube` applies CRDs, which helm never upgrades.

    Workloads are not waited for here: the stage watches them, and can say why they do not come up.
    """

    def __init__(self, tool: Tool, session: KubeSession, charts: ChartSource, kube: KubeWriter) -> None:
        self._tool = tool
        self._session = session
        self._charts = charts
        self._kube = kube

    def release(self, access: KubeAccess, component: Component) -> ReleaseState:
        name, namespace = component.release, component.namespace
        found = self._listed(access, name, namespace)
        if not found:
            return ReleaseState(name, namespace)
        chart = _CHART.fullmatch(found["chart"])
        return ReleaseState(
            name=name,
            namespace=namespace,
            status=found["status"],
            chart=chart["name"] if chart else found["chart"],
            chart_version=chart["version"] if chart else "",
            revision=int(found.get("revision") or 0),
            foreign=not self._ours(access, name, namespace),
            values=self._values(access, name, namespace),
        )

    def install(self, access: KubeAccess, component: Component, values: str) -> None:
        """Install or upgrade; a release that an interrupted or failed run has left half made is mended first."""
        before = self.release(access, component)
        self._mend(access, component, before)
        try:
            self._install(access, component, values)
        except ToolFailedError as problem:
            raise explained(problem, component) from problem

    def _install(self, access: KubeAccess, component: Component, values: str) -> None:
        if not isinstance(component.chart, Chart):
            raise TypeError(f"{component.name} is no chart")
        chart = self._charts.locate(component.chart)
        if component.crds:
            self._apply_crds(access, chart)
        file = self._session.file(f"{component.name}-values.yaml", values)
        self._change(
            access, "upgrade", component.release, *chart, "--install", "--create-namespace",
            "--namespace", component.namespace, "--values", str(file), "--reset-values", "--labels", MARK,
            "--take-ownership", *self._forced(),
        )  # fmt: skip

    def uninstall(self, access: KubeAccess, component: Component) -> None:
        """Uninstall and wait until what it made is gone. An absent release is done already."""
        try:
            self._change(access, "uninstall", component.release, "--namespace", component.namespace, "--wait")
        except ToolFailedError as problem:
            if ABSENT not in problem.output:
                raise

    def _listed(self, access: KubeAccess, name: str, namespace: str) -> dict[str, Any] | None:
        """The newest revision of a release, whatever its status: helm 3 hides all but two unless told each of them."""
        text = self._read(access, "list", "--namespace", namespace, "--filter", f"^{re.escape(name)}$", *STATUSES)
        found = json.loads(text or "[]")
        return max(found, key=lambda one: int(one.get("revision") or 0)) if found else None

    def _values(self, access: KubeAccess, name: str, namespace: str) -> dict[str, Any]:
        return dict(json.loads(self._read(access, "get", "values", name, "--namespace", namespace) or "{}") or {})

    def _ours(self, access: KubeAccess, name: str, namespace: str) -> bool:
        """Whether the release carries our label; `helm list` chooses by labels and does not show them."""
        text = self._read(
            access, "list", "--namespace", namespace, "--filter", f"^{re.escape(name)}$", "--selector", MARK, *STATUSES
        )
        return bool(json.loads(text or "[]"))

    def _mend(self, access: KubeAccess, component: Component, release: ReleaseState) -> None:
        if release.status in _HALF_UPGRADED:
            self._change(access, "rollback", release.name, "--namespace", release.namespace, *self._forced())
        elif release.status in _HALF_MADE or (release.status == "failed" and release.revision == 1):
            self.uninstall(access, component)

    def _apply_crds(self, access: KubeAccess, chart: Sequence[str]) -> None:
        """Those of the chart's crds folder: helm neither upgrades them nor minds older ones that are there."""
        crds = self._session.run(self._tool, access, ("show", "crds", *chart), timeout_s=HOOKS_LIMIT_S)
        if crds.strip():
            self._kube.apply(access, crds)

    def _forced(self) -> tuple[str, ...]:
        """Fields that an operator or a hand has changed are set back; helm 3 does so without being told.

        A release that helm 3 made is applied client-side by default, where helm 4 refuses to force.
        """
        return ("--server-side=true", "--force-conflicts") if self._tool.version >= HELM_4 else ()

    def _read(self, access: KubeAccess, *arguments: str) -> str:
        return self._session.read(self._tool, access, (*arguments, "--output", "json"), timeout_s=READ_LIMIT_S)

    def _change(self, access: KubeAccess, *arguments: str) -> None:
        limits = ("--timeout", f"{HOOKS_LIMIT_S}s")
        self._session.run(self._tool, access, (*arguments, *limits), timeout_s=2 * HOOKS_LIMIT_S)
