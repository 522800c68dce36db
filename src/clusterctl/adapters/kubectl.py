"""Kubernetes through the real kubectl: reads as JSON, writes by server-side apply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clusterctl.adapters import kubeobjects
from clusterctl.adapters.kubeobjects import NODE_LINES
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.process import Tool
from clusterctl.errors import ToolFailedError
from clusterctl.model.kube import KubeAccess, WorkloadRef, WorkloadState
from clusterctl.model.verification import NodeFacts

REQUEST_TIMEOUT = "--request-timeout=30s"
FIELD_MANAGER = "--field-manager=clusterctl"
DELETE_LIMIT_S = 180
_NO_SUCH_KIND = ("the server doesn't have a resource type", "could not find the requested resource")


class Kubectl:
    """Implements ports.KubeReader and ports.KubeWriter."""

    def __init__(self, tool: Tool, session: KubeSession) -> None:
        self._tool = tool
        self._session = session

    def nodes(self, access: KubeAccess, selector: str = "") -> tuple[NodeFacts, ...]:
        """By a template, not as JSON: most of a Node are its images, and thousands of nodes are 80 MB of them."""
        text = self._read(access, "nodes", *_selected(selector), "--output", f"jsonpath={NODE_LINES}")
        return tuple(kubeobjects.node_facts(one) for one in kubeobjects.read_node_lines(text))

    def workload(self, access: KubeAccess, ref: WorkloadRef) -> WorkloadState:
        """Its state; the reasons of its pods are asked for only while some of them do not run."""
        text = self._get(access, ref.kind.lower(), ref.name, "--namespace", ref.namespace, "--ignore-not-found")
        if not text.strip():
            return WorkloadState(ref)
        workload = json.loads(text)
        state = kubeobjects.workload_state(ref, workload)
        if state.rolled_out and state.wanted:
            return state
        labels = workload["spec"]["selector"].get("matchLabels") or {}
        chosen = ",".join(f"{key}={value}" for key, value in labels.items())
        pods = self._get(access, "pods", "--namespace", ref.namespace, *_selected(chosen))
        return kubeobjects.workload_state(ref, workload, items(pods))

    def objects(self, access: KubeAccess, resource: str, selector: str = "") -> tuple[Mapping[str, Any], ...]:
        """Every object of a resource in every namespace; none where the cluster does not know the resource."""
        try:
            return tuple(items(self._get(access, resource, "--all-namespaces", *_selected(selector))))
        except ToolFailedError as problem:
            if _unknown_kind(problem):
                return ()
            raise

    def apply(self, access: KubeAccess, manifests: str) -> None:
        """Server-side, since some CRDs are too large for an annotation; conflicts are ours to win: we own these."""
        self._session.run(
            self._tool, access,
            ("apply", "--server-side", "--force-conflicts", FIELD_MANAGER, REQUEST_TIMEOUT, "--filename", "-"),
            stdin=manifests, timeout_s=120,
        )  # fmt: skip

    def delete(self, access: KubeAccess, ref: WorkloadRef) -> None:
        self._delete(access, ref.kind.lower(), ref.name, "--namespace", ref.namespace)

    def delete_all(self, access: KubeAccess, resource: str, selector: str = "") -> None:
        """Nothing to do where the cluster does not know the resource."""
        chosen = _selected(selector) or ("--all",)
        try:
            self._delete(access, resource, "--all-namespaces", *chosen)
        except ToolFailedError as problem:
            if not _unknown_kind(problem):
                raise

    def _get(self, access: KubeAccess, *arguments: str) -> str:
        return self._read(access, *arguments, "--output", "json")

    def _read(self, access: KubeAccess, *arguments: str) -> str:
        return self._session.read(self._tool, access, ("get", *arguments, REQUEST_TIMEOUT), timeout_s=120)

    def _delete(self, access: KubeAccess, *arguments: str) -> None:
        limits = ("--wait=true", f"--timeout={DELETE_LIMIT_S}s", "--ignore-not-found")
        self._session.run(self._tool, access, ("delete", *arguments, *limits), timeout_s=DELETE_LIMIT_S + 30)


def items(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a List as kubectl prints it, one at a time: thousands of nodes never stand in memory at once."""
    start = text.find('"items": [')
    if start < 0:
        yield from json.loads(text or "{}").get("items", [])
        return
    position, decoder = start + len('"items": ['), json.JSONDecoder()
    while (position := _skip(text, position)) < len(text) and text[position] != "]":
        item, position = decoder.raw_decode(text, position)
        yield item


def _skip(text: str, position: int) -> int:
    """The next place that is neither white space nor a comma."""
    while position < len(text) and text[position] in " \n\t\r,":
        position += 1
    return position


def _selected(selector: str) -> tuple[str, ...]:
    return ("--selector", selector) if selector else ()


def _unknown_kind(problem: ToolFailedError) -> bool:
    return any(words in problem.output for words in _NO_SUCH_KIND)
