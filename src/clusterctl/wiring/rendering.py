"""`render`: the plans of a deployment from nothing, as files. What they hold is what the executor would be given."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clusterctl.adapters.rendered_folder import RenderedFolder
from clusterctl.engine.actions import CreateCluster, CreateNodegroup, InstallRelease
from clusterctl.engine.pipeline import Pipeline, Preview
from clusterctl.engine.stage import Stage
from clusterctl.engine.unmade import Unmade
from clusterctl.errors import UsageError
from clusterctl.model.decision import Decision, remembered_first
from clusterctl.model.kube import Component
from clusterctl.model.run import RunContext
from clusterctl.model.waves import sync_waves
from clusterctl.rendering.gitops import GitPlace, RenderedFile, application, component_files, root_application
from clusterctl.wiring.bench import Bench


@dataclass(frozen=True, slots=True)
class Rendering:
    """All files, in the order in which they would be applied, and what they cannot say."""

    files: tuple[RenderedFile, ...]
    notices: tuple[str, ...] = ()


def git_place(url: str, path: str, revision: str) -> GitPlace | None:
    """Where the folder will be; None without a repository. Raises UsageError for a path that is in none."""
    if not url:
        if path or revision:
            raise UsageError("--repo-path and --repo-revision say nothing without a repository", hint="--repo URL")
        return None
    if path.startswith("/") or ".." in path.split("/"):
        raise UsageError(f"--repo-path {path} is no folder of a repository", hint="say it from the top: clusters/gpu")
    return GitPlace(url, path or ".", revision or "HEAD")


def render_folder(bench: Bench, folder: Path, git: GitPlace | None) -> dict[str, Any]:
    """Write the files into a folder; the document of what it holds. Raises UsageError for a folder of others."""
    rendering = render_deployment(bench, git)
    done = RenderedFolder(folder).write({one.path: one.text for one in rendering.files})
    files = [
        {"path": one.path, "kind": one.kind, "component": one.component, "status": done[one.path]}
        for one in rendering.files
    ]
    removed = [path for path, status in done.items() if status == "removed"]
    return {"directory": str(folder), "files": files, "removed": removed, "notices": list(rendering.notices)}


def render_deployment(bench: Bench, git: GitPlace | None = None) -> Rendering:
    """Render the deployment that the settings and the placement describe. Reads AWS, and changes nothing."""
    stages, preview = preview_from_nothing(bench)
    files, left_out = deployment_files(bench.settings.cluster_name, stages, preview, git)
    notices = [*preview.outputs[Decision].notices]
    if bench.settings.lifetime and _run(bench).expires_at is None:
        notices.append("no file says when the cluster expires: a TTL counts from the deployment")
    notices += [f"{one} has no Argo CD Application: say which repository holds it with --repo" for one in left_out]
    return Rendering(files, tuple(notices))


def preview_from_nothing(bench: Bench) -> tuple[tuple[Stage[Any], ...], Preview]:
    """The stages of the deployment, and their plans as if nothing stood yet where they were decided to be."""
    tools = replace(bench.tools, clusters=Unmade(bench.tools.clusters))
    wanted = [name for name in bench.deployment if name != "verify"]
    stages = tuple(one for one in tools.stages(bench.settings, None) if one.name in wanted)
    outputs = bench.outputs.with_value(_run(bench))
    search, *rest = stages
    decision = remembered_first(search.observe(outputs.only(search.requires)))
    pipeline = Pipeline(rest, tools.executor, bench.clock, lambda event: None)
    return stages, pipeline.preview(outputs.with_value(decision))


def deployment_files(
    cluster: str, stages: Iterable[Stage[Any]], preview: Preview, git: GitPlace | None
) -> tuple[tuple[RenderedFile, ...], tuple[str, ...]]:
    """The files of the planned actions, and the components that no Application stands for."""
    installs = {
        plan.stage: [one for one in plan.plan if isinstance(one, InstallRelease)]
        for plan in preview.plans
    }  # fmt: skip
    waves = _waves({name: [one.component for one in actions] for name, actions in installs.items()}, stages)
    releases = [one for actions in installs.values() for one in actions]
    files = [*_eksctl_files(preview)]
    for one in releases:
        files += component_files(one.component, one.values)
    texts = {
        one.component.name: application(cluster, one.component, one.values, waves[one.component.name], git)
        for one in releases
    }
    files += [RenderedFile(f"argocd/{name}.yaml", "argocd", text, name) for name, text in texts.items() if text]
    if git:
        files.append(RenderedFile("argocd.yaml", "argocd", root_application(cluster, git)))
    return tuple(files), tuple(name for name, text in texts.items() if not text)


def _eksctl_files(preview: Preview) -> Iterator[RenderedFile]:
    for plan in preview.plans:
        for action in plan.plan:
            match action:
                case CreateCluster(config=config):
                    yield RenderedFile("eksctl/cluster.yaml", "eksctl", config)
                case CreateNodegroup(config=config):
                    yield RenderedFile("eksctl/nodegroup.yaml", "eksctl", config)
                case _:
                    continue


def _waves(chains: Mapping[str, list[Component]], stages: Iterable[Stage[Any]]) -> dict[str, int]:
    every = tuple(stages)
    makers = {stage.provides: stage.name for stage in every}
    after = {stage.name: [makers[kind] for kind in stage.requires if kind in makers] for stage in every}
    return sync_waves(chains, after)


def _run(bench: Bench) -> RunContext:
    """The marks of the deployment, the same at every rendering: those remembered, or made of what it is called.

    A time to live becomes a moment at the deployment alone, so only one that is remembered can be written.
    """
    run, before = bench.run, bench.remembered
    if before and before.cluster_name == run.cluster and before.run_id:
        ahead = before.expiry and before.expiry > bench.clock.now()
        return replace(run, run_id=before.run_id, expires_at=before.expiry if ahead else None)
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"clusterctl/{run.account_id}/{run.cluster}")
    return replace(run, run_id=name.hex[:12], expires_at=None)
