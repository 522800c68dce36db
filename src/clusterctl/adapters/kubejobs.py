"""Jobs through the real kubectl: their objects, their pods, and their output while it comes and afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from clusterctl.adapters import kubeobjects
from clusterctl.adapters.kubectl import REQUEST_TIMEOUT, items
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.process import Tool, ToolProcess
from clusterctl.errors import ToolFailedError
from clusterctl.model.kube import KubeAccess, WorkloadRef
from clusterctl.model.pods import PodFacts

STREAM_LIMIT_S = 7 * 24 * 3600.0
_NEVER_RAN = ("is waiting to start", "does not have a host assigned", "not found", "unable to retrieve container logs")
_UNKNOWN = ("the server doesn't have a resource type", "could not find the requested resource")


class KubeJobs:
    """Implements ports.JobReader."""

    def __init__(self, tool: Tool, session: KubeSession) -> None:
        self._tool = tool
        self._session = session

    def object(self, access: KubeAccess, ref: WorkloadRef) -> Mapping[str, Any] | None:
        try:
            text = self._get(access, ref.kind, ref.name, *_in(ref.namespace), "--ignore-not-found")
        except ToolFailedError as problem:
            if any(words in problem.output for words in _UNKNOWN):
                return None
            raise
        return dict(json.loads(text)) if text.strip() else None

    def pods(self, access: KubeAccess, namespace: str = "", selector: str = "") -> tuple[PodFacts, ...]:
        where = _in(namespace) or ("--all-namespaces",)
        chosen = ("--selector", selector) if selector else ()
        return tuple(kubeobjects.pod_facts(pod) for pod in items(self._get(access, "pods", *where, *chosen)))

    def log(self, access: KubeAccess, pod: PodFacts) -> tuple[str, ...]:
        arguments = ("logs", pod.name, *_in(pod.namespace), "--container", pod.container, REQUEST_TIMEOUT)
        try:
            text = self._session.read(self._tool, access, arguments, timeout_s=120)
        except ToolFailedError as problem:
            if any(words in problem.output for words in _NEVER_RAN):
                return ()
            raise
        return tuple(text.splitlines())

    def ask(self, access: KubeAccess, pod: PodFacts, words: Sequence[str]) -> tuple[str, ...]:
        arguments = ("exec", pod.name, *_in(pod.namespace), "--container", pod.container, "--", *words)
        try:
            return tuple(self._session.read(self._tool, access, arguments, timeout_s=120).splitlines())
        except ToolFailedError:
            return ()

    def follow(self, access: KubeAccess, namespace: str, selector: str, count: int) -> ToolLines:
        """One kubectl for all pods; without `--tail` it would begin ten lines before the end."""
        arguments = (
            "logs", "--follow", "--prefix", "--tail=-1", f"--max-log-requests={max(count, 1)}",
            *_in(namespace), "--selector", selector,
        )  # fmt: skip
        return ToolLines(self._session.start(self._tool, access, arguments, timeout_s=STREAM_LIMIT_S))

    def _get(self, access: KubeAccess, *arguments: str) -> str:
        words = ("get", *arguments, "--output", "json", REQUEST_TIMEOUT)
        return self._session.read(self._tool, access, words, timeout_s=120)


class ToolLines:
    """Implements ports.LogStream over the output of a child process."""

    def __init__(self, child: ToolProcess) -> None:
        self._child = child
        self._position = 0

    @property
    def running(self) -> bool:
        return self._child.running

    def take(self) -> tuple[str, ...]:
        """A line that is not whole yet stays for the next call."""
        fresh = self._child.stdout_from(self._position)
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._position += len(whole)
        return tuple(whole.decode(errors="replace").splitlines())

    def stop(self) -> None:
        self._child.stop()


def _in(namespace: str) -> tuple[str, ...]:
    return ("--namespace", namespace) if namespace else ()
