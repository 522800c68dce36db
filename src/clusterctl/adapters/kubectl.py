"""Kubernetes through the real kubectl: reads as JSON, writes by server-side apply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterctl.adapters import kubeobjects
from clusterctl.adapters.kubeobjects import NODE_LINES
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.process import Tool
from clusterctl.errors import LeftoversError, ToolFailedError
from clusterctl.model.kube import KubeAccess, Proof, Signal, WorkloadRef, WorkloadState
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

    def found(self, access: KubeAccess, signals: Sequence[Signal]) -> Mapping[Signal, Mapping[str, Any]]:
        """One call for each namespace; one for each kind where the cluster does not know some of them."""
        answers: dict[Signal, Mapping[str, Any]] = {}
        for space in dict.fromkeys(one.namespace for one in signals):
            group = [one for one in signals if one.namespace == space]
            try:
                answers |= self._found(access, space, group)
            except ToolFailedError as problem:
                if not _unknown_kind(problem):
                    raise
                if len(group) > 1:
                    for one in group:
                        answers |= self.found(access, (one,))
        return answers

    def _found(self, access: KubeAccess, namespace: str, signals: Sequence[Signal]) -> dict[Signal, Mapping[str, Any]]:
        names = [f"{one.resource}/{one.name}" for one in signals]
        where = ("--namespace", namespace) if namespace else ()
        text = self._get(access, *names, *where, "--ignore-not-found")
        if not text.strip():
            return {}
        objects = list(items(text)) if len(signals) > 1 else [json.loads(text)]
        plural = {(one["kind"].lower(), one["metadata"]["name"]): one for one in objects}
        found = ((one, plural.get((_singular(one.resource), one.name))) for one in signals)
        return {signal: thing for signal, thing in found if thing is not None}

    def apply(self, access: KubeAccess, manifests: str) -> None:
        """Server-side, since some CRDs are too large for an annotation; conflicts are ours to win: we own these."""
        self._session.run(
            self._tool, access,
            ("apply", "--server-side", "--force-conflicts", FIELD_MANAGER, REQUEST_TIMEOUT, "--filename", "-"),
            stdin=manifests, timeout_s=120,
        )  # fmt: skip

    def run(
        self, access: KubeAccess, pod: WorkloadRef, words: Sequence[str], stdin: str = "", container: str = ""
    ) -> None:
        how = (*(("--stdin",) if stdin else ()), *(("--container", container) if container else ()))
        arguments = ("exec", pod.name, "--namespace", pod.namespace, *how, "--", *words)
        self._session.run(self._tool, access, arguments, stdin=stdin, timeout_s=120)

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

    def delete_named(self, access: KubeAccess, resource: str, name: str) -> None:
        """Delete one object without a namespace and see it gone. Raises LeftoversError with what holds it."""
        try:
            self._delete(access, resource, name)
        except ToolFailedError as problem:
            if _unknown_kind(problem):
                return
            if "timed out waiting" not in problem.output:
                raise
            signal = Signal(resource, name, Proof.READY)
            found = self._found(access, "", (signal,)).get(signal)
            if found is not None:
                raise LeftoversError(
                    f"{resource.removesuffix('s')} {name} does not go: {kubeobjects.held_by(found)}",
                    hint=f"remove what it waits for, then run this again: kubectl get {resource} {name} -o yaml",
                ) from problem

    def remove(self, access: KubeAccess, manifests: str) -> None:
        """Delete these objects; fine where some are gone, or their kind is."""
        limits = ("--wait=true", f"--timeout={DELETE_LIMIT_S}s", "--ignore-not-found")
        try:
            self._session.run(
                self._tool, access, ("delete", "--filename", "-", *limits), stdin=manifests,
                timeout_s=DELETE_LIMIT_S + 30,
            )  # fmt: skip
        except ToolFailedError as problem:
            if "no matches for kind" not in problem.output:
                raise

    def delete_listed(self, access: KubeAccess, resource: str, names: Sequence[str]) -> None:
        """NAMESPACE/NAME each; those of one namespace go together."""
        by_namespace: dict[str, list[str]] = {}
        for one in names:
            namespace, _, name = one.partition("/")
            by_namespace.setdefault(namespace, []).append(name)
        for namespace, some in by_namespace.items():
            self._delete(access, resource, *some, "--namespace", namespace)

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


def _singular(resource: str) -> str:
    """A resource's kind in small letters; every plural that we ask for ends in a plain s."""
    return resource.partition(".")[0].removesuffix("s")


def _selected(selector: str) -> tuple[str, ...]:
    return ("--selector", selector) if selector else ()


def _unknown_kind(problem: ToolFailedError) -> bool:
    return any(words in problem.output for words in _NO_SUCH_KIND)
