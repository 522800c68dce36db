"""Objects that no such API has, or that cannot mean what they say."""

from __future__ import annotations

from collections.abc import Iterator

from clusterctl.model.lint.finding import Hit
from clusterctl.model.lint.pods import Manifest
from clusterctl.model.lint.yaml_lines import Map, walk

SLINKY = "slinky.slurm.net"
SLINKY_KINDS = ("Controller", "NodeSet", "Accounting", "LoginSet", "RestApi", "Token")
INTERNAL = {
    "service.beta.kubernetes.io/aws-load-balancer-scheme": "internal",
    "service.beta.kubernetes.io/aws-load-balancer-internal": "true",
}


def mpijob_version(manifest: Manifest) -> Iterator[Hit]:
    if manifest.kind == "MPIJob" and manifest.group == "kubeflow.org" and manifest.version != "v2beta1":
        yield manifest.body.line_of("apiVersion"), f"MPIJob {manifest.version}: the MPI Operator serves v2beta1"


def slinky_kind(manifest: Manifest) -> Iterator[Hit]:
    if manifest.group != SLINKY:
        return
    if manifest.kind not in SLINKY_KINDS:
        yield manifest.body.line_of("kind"), f"Slinky has no kind {manifest.kind}"
    elif manifest.version != "v1beta1":
        yield manifest.body.line_of("apiVersion"), f"{manifest.kind} {manifest.version}: Slinky 1.2 serves v1beta1"


def scratch_throughput(document: Map) -> Iterator[Hit]:
    """FSx refuses a throughput for scratch file systems."""
    for one in walk(document):
        folded = {name.lower(): name for name in one}
        kind = str(one.get(folded.get("deploymenttype", ""), ""))
        throughput = folded.get("perunitstoragethroughput")
        if kind.startswith("SCRATCH_") and throughput:
            yield one.line_of(throughput), f"{kind} with perUnitStorageThroughput, which FSx refuses"


def volume_with_repository(document: Map) -> Iterator[Hit]:
    """Data repository associations are objects of FSx's API, and no field of a claim, a volume or a class."""
    if document.get("kind") not in ("StorageClass", "PersistentVolume", "PersistentVolumeClaim", "FileSystem"):
        return
    for one in walk(document):
        for name in one:
            if name.lower() == "datarepositoryassociations":
                yield one.line_of(name), f"{document['kind']} has no field {name}"


def public_login(manifest: Manifest) -> Iterator[Hit]:
    if manifest.group == SLINKY and manifest.kind == "LoginSet":
        service = manifest.spec.map("service")
        if _is_public(service):
            yield service.map("spec").line_of("type"), "the login set gets a public load balancer"


def public_login_values(values: Map) -> Iterator[Hit]:
    """The chart's default for a login set's service is LoadBalancer."""
    for name, one in values.map("loginsets").items():
        if isinstance(one, Map) and one.get("enabled") is True:
            service = one.map("service")
            unset = service.at("spec", "type") is None
            if _is_public(service) or (unset and not _is_internal(service)):
                default = ", which is the chart's default" if unset else ""
                yield one.line, f"login set {name} gets a public load balancer{default}"


def _is_public(service: Map) -> bool:
    return service.at("spec", "type") == "LoadBalancer" and not _is_internal(service)


def _is_internal(service: Map) -> bool:
    notes = {**service.map("annotations"), **service.map("metadata", "annotations")}
    return any(str(notes.get(name)).lower() == value for name, value in INTERNAL.items())
