"""The workloads that can be trained, and the manifests of one job, from the folders of manifests/workloads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clusterctl.model import pins
from clusterctl.model.jobsize import JobSize
from clusterctl.model.settings import Settings
from clusterctl.model.workloads import Workload, no_such_workload, parse_workload
from clusterctl.rendering.templates import render, template_root

FOLDER = "manifests/workloads"
DESCRIPTION = "workload.yaml"
EVIDENCE = "evidence.sh"
BATCH = "job.sbatch.j2"  # in place of a manifest, for what Slurm and not Kubernetes runs
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class JobText:
    """All that a workload's template may use. `measures` are transport and number of each measurement."""

    name: str
    run_id: str
    namespace: str
    nodegroup: str
    image: str
    size: JobSize
    env: Pairs
    scripts: Pairs
    settings: Settings
    measures: tuple[tuple[str, int], ...] = (("efa", 1),)

    @property
    def bundle(self) -> str:
        return packed(self.scripts)


def workload_names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in (template_root() / FOLDER).glob(f"*/{DESCRIPTION}")))


def load_workload(name: str) -> Workload:
    """The description of a workload. Raises UsageError for one that is not there, with the nearest name."""
    import yaml

    if name not in workload_names():
        raise no_such_workload(name, workload_names())
    path = template_root() / FOLDER / name / DESCRIPTION
    return parse_workload({"name": name, **yaml.safe_load(path.read_text(encoding="utf-8"))}, f"{name}/{DESCRIPTION}")


def scripts_of(workload: Workload) -> Pairs:
    """The files that travel to the pods: the workload's own, and what every pod says of its fabric."""
    root = template_root()
    files = [(EVIDENCE, root / FOLDER / EVIDENCE)]
    files += [(Path(name).name, root / "scripts" / "train" / name) for name in workload.scripts]
    return tuple((name, path.read_text(encoding="utf-8")) for name, path in files)


def render_job(job: JobText) -> str:
    """The manifests of one job."""
    batch = f"{FOLDER}/{job.name}/{BATCH}"
    template = batch if (template_root() / batch).is_file() else f"{FOLDER}/{job.name}/manifest.yaml.j2"
    return render(template, job=job, pins=pins).lstrip()


def packed(scripts: Pairs) -> str:
    """The files as a compressed archive in base64: the same text for the same files."""
    import base64
    import gzip
    import io
    import tarfile

    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, text in scripts:
            member, data = tarfile.TarInfo(name), text.encode()
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return base64.encodebytes(gzip.compress(plain.getvalue(), mtime=0)).decode().strip()
