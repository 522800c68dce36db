"""The operators, described rather than coded: chart or manifest, place, order, signs of life and way out."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.model.instances import Accelerator, InstanceType
from clusterctl.model.kube import Chart, Component, Manifest, Proof, Signal, WorkloadRef
from clusterctl.model.settings import Settings
from clusterctl.model.verification import EFA, GPU, NEURON

RAY_CRDS = dict.fromkeys(("rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io", "raycronjobs.ray.io"), "v1")
VALIDATING, MUTATING = "validatingwebhookconfigurations", "mutatingwebhookconfigurations"
SLURM_NAMESPACE = "slurm"
STORAGE_CLASS = "clusterctl-gp3"
_SLINKY_KINDS = ("nodesets", "loginsets", "restapis", "accountings", "tokens", "controllers")
_VOLCANO_CRDS = {
    "jobs.batch.volcano.sh": "v1alpha1",
    "commands.bus.volcano.sh": "v1alpha1",
    "podgroups.scheduling.volcano.sh": "v1beta1",
    "queues.scheduling.volcano.sh": "v1beta1",
}
_CERT_MANAGER_CRDS = (
    "certificates.cert-manager.io", "certificaterequests.cert-manager.io", "issuers.cert-manager.io",
    "clusterissuers.cert-manager.io", "orders.acme.cert-manager.io", "challenges.acme.cert-manager.io",
)  # fmt: skip
_MARIADB_CRDS = {"mariadbs.k8s.mariadb.com": "v1alpha1"}


def kuberay(settings: Settings, *, gangs: bool = False) -> Component:
    """The KubeRay operator; with Volcano as its batch scheduler where there is one."""
    return Component(
        name="kuberay",
        title="KubeRay operator",
        chart=Chart("https://ray-project.github.io/kuberay-helm", "kuberay-operator", settings.kuberay_version),
        release="kuberay-operator",
        namespace="kuberay-system",
        workloads=(WorkloadRef("Deployment", "kuberay-system", "kuberay-operator"),),
        crds=RAY_CRDS,
        template="kuberay/values.yaml.j2",
        facts={"scheduler": "volcano" if gangs else ""},
        objects=("rayjobs.ray.io", "rayservices.ray.io", "raycronjobs.ray.io", "rayclusters.ray.io"),
        own_namespace=True,
    )


def volcano(settings: Settings) -> Component:
    """Volcano. Its deployments have no readiness probes: the webhooks' certificates tell when it can be used."""
    space = "volcano-system"
    hooks = (
        (VALIDATING, "jobs-validate"), (MUTATING, "jobs-mutate"), (VALIDATING, "queues-validate"),
        (MUTATING, "queues-mutate"), (VALIDATING, "podgroups-validate"),
    )  # fmt: skip
    return Component(
        name="volcano",
        title="Volcano",
        chart=Chart("https://volcano-sh.github.io/helm-charts", "volcano", settings.volcano_version),
        release="volcano",
        namespace=space,
        workloads=tuple(
            WorkloadRef("Deployment", space, f"volcano-{one}") for one in ("admission", "controllers", "scheduler")
        ),
        crds=_VOLCANO_CRDS,
        template="volcano/values.yaml.j2",
        signals=tuple(Signal(kind, f"volcano-admission-service-{hook}", Proof.CALLABLE) for kind, hook in hooks),
        objects=("jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh"),
        users=("jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh"),
        own_namespace=True,
    )


def mpi(settings: Settings, *, gangs: bool = False) -> Component:
    """The MPI operator, which is published as a manifest. With Volcano, every MPIJob is scheduled as a gang."""
    version = settings.mpi_operator_version
    url = f"https://raw.githubusercontent.com/kubeflow/mpi-operator/v{version}/deploy/v2beta1/mpi-operator.yaml"
    return Component(
        name="mpi",
        title="MPI operator",
        chart=Manifest(url, "mpi-operator", version),
        release="mpi-operator",
        namespace="mpi-operator",
        workloads=(WorkloadRef("Deployment", "mpi-operator", "mpi-operator"),),
        crds={"mpijobs.kubeflow.org": "v2beta1"},
        template="mpi/kustomization.yaml.j2",
        facts={"scheduler": "volcano" if gangs else "", "version": version},
        objects=("mpijobs.kubeflow.org",),
        own_namespace=True,
    )


def cert_manager(settings: Settings) -> Component:
    """cert-manager, which many clusters have already: theirs is used as it is."""
    space, hook = "cert-manager", "cert-manager-webhook"
    return Component(
        name="cert-manager",
        title="cert-manager",
        chart=Chart("oci://quay.io/jetstack/charts", "cert-manager", settings.cert_manager_version),
        release="cert-manager",
        namespace=space,
        workloads=tuple(WorkloadRef("Deployment", space, one) for one in (space, hook, f"{space}-cainjector")),
        crds=dict.fromkeys(_CERT_MANAGER_CRDS, "v1"),
        template="cert-manager/values.yaml.j2",
        signals=(Signal(VALIDATING, hook, Proof.CALLABLE), Signal(MUTATING, hook, Proof.CALLABLE)),
        users=("certificates.cert-manager.io", "issuers.cert-manager.io", "clusterissuers.cert-manager.io"),
        own_namespace=True,
        shared=True,
    )


@dataclass(frozen=True, slots=True)
class SlurmNodes:
    """The nodes that Slurm is to use: how many, of which type, and what their taints are."""

    kind: InstanceType
    count: int
    taints: tuple[str, ...] = ()

    @property
    def devices(self) -> dict[str, int]:
        """What a node offers to pods, and one slurmd takes all of."""
        counts = {GPU: self.kind.gpus, NEURON: self.kind.neuron_devices, EFA: self.kind.efa_interfaces}
        return {name: count for name, count in counts.items() if count}

    @property
    def gres(self) -> tuple[str, int]:
        """Slurm's name for the accelerator, and how many a node has."""
        if self.kind.accelerator is Accelerator.NEURON:
            return "neuron", self.kind.neuron_devices
        return "gpu", self.kind.gpus

    @property
    def cpus(self) -> int:
        """What kubelet, plugins and network leave of a node for one large pod."""
        return max(1, self.kind.vcpus - 2)

    @property
    def memory_mib(self) -> int:
        return int(self.kind.memory_mib * 0.85)


def slinky(settings: Settings, nodes: SlurmNodes) -> tuple[Component, ...]:
    """Slurm on Kubernetes, in the order in which its parts stand on each other."""
    return (
        ebs_csi(settings),
        cert_manager(settings),
        _slurm_definitions(settings),
        _slurm_operator(settings),
        *_mariadb(settings),
        _slurm_database(),
        _slurm(settings, nodes),
    )


OPERATORS = ("kuberay", "mpi", "volcano", "slinky")  # stages, in the order in which they are taken away


def installed_by(stage: str, settings: Settings) -> tuple[Component, ...]:
    """The components of an operator's stage, in the order in which they are taken away."""
    if stage == "slinky":
        return tuple(reversed(slinky(settings, SlurmNodes(InstanceType("", vcpus=0, memory_mib=0), 0))))
    return ({"kuberay": kuberay, "mpi": mpi, "volcano": volcano}[stage](settings),)


def ebs_csi(settings: Settings) -> Component:
    """The driver of EBS volumes; EKS has it as an add-on too, and whoever brought it, it is used as it is."""
    space = "kube-system"
    return Component(
        name="ebs-csi",
        title="EBS CSI driver",
        chart=Chart(
            "https://kubernetes-sigs.github.io/aws-ebs-csi-driver",
            "aws-ebs-csi-driver",
            settings.ebs_csi_driver_version,
        ),
        release="aws-ebs-csi-driver",
        namespace=space,
        workloads=(WorkloadRef("Deployment", space, "ebs-csi-controller"),),
        template="ebs-csi/values.yaml.j2",
        facts={"cluster": settings.cluster_name},
        users=("persistentvolumes",),
        shared=True,
    )


def _slurm_chart(settings: Settings, name: str) -> Chart:
    return Chart("oci://ghcr.io/slinkyproject/charts", name, settings.slinky_version)


def _slurm_definitions(settings: Settings) -> Component:
    return Component(
        name="slurm-operator-crds",
        title="Slinky definitions",
        chart=_slurm_chart(settings, "slurm-operator-crds"),
        release="slurm-operator-crds",
        namespace="slinky",
        workloads=(),
        crds={f"{kind}.slinky.slurm.net": "v1beta1" for kind in _SLINKY_KINDS},
        users=tuple(f"{kind}.slinky.slurm.net" for kind in _SLINKY_KINDS),
    )


def _slurm_operator(settings: Settings) -> Component:
    """Its webhooks are scoped to Slurm's namespace: the one on bindings would see every pod of the cluster."""
    name, space = "slurm-operator", "slinky"
    hook = f"{name}-webhook"
    return Component(
        name=name,
        title="Slinky operator",
        chart=_slurm_chart(settings, name),
        release=name,
        namespace=space,
        workloads=(WorkloadRef("Deployment", space, name), WorkloadRef("Deployment", space, hook)),
        template="slurm-operator/values.yaml.j2",
        facts={"namespaces": SLURM_NAMESPACE},
        needs=("cert-manager", "slurm-operator-crds"),
        signals=(Signal(VALIDATING, hook, Proof.CALLABLE), Signal(MUTATING, hook, Proof.CALLABLE)),
        own_namespace=True,
    )


def _mariadb(settings: Settings) -> tuple[Component, Component]:
    """The operator of Slurm's accounting database, and its definitions."""
    repository, version, space = "oci://ghcr.io/mariadb-operator/charts", settings.mariadb_operator_version, "mariadb"
    name = "mariadb-operator"
    definitions = Component(
        name=f"{name}-crds",
        title="MariaDB definitions",
        chart=Chart(repository, f"{name}-crds", version),
        release=f"{name}-crds",
        namespace=space,
        workloads=(),
        crds=_MARIADB_CRDS,
        users=tuple(_MARIADB_CRDS),
        shared=True,
    )
    operator = Component(
        name=name,
        title="MariaDB operator",
        chart=Chart(repository, name, version),
        release=name,
        namespace=space,
        workloads=tuple(
            WorkloadRef("Deployment", space, one) for one in (name, f"{name}-webhook", f"{name}-cert-controller")
        ),
        template="mariadb-operator/values.yaml.j2",
        needs=(definitions.name,),
        signals=(Signal(VALIDATING, f"{name}-webhook", Proof.CALLABLE),),
        users=tuple(_MARIADB_CRDS),
        own_namespace=True,
        shared=True,
    )
    return definitions, operator


def _slurm_database() -> Component:
    """Our own resources: the namespace, a class of volumes that can be counted on, and the database."""
    return Component(
        name="slurm-database",
        title="Slurm's database",
        chart=Manifest("", "slurm-database", "1"),
        release="slurm-database",
        namespace=SLURM_NAMESPACE,
        workloads=(),
        template="slurm-database/resources.yaml.j2",
        facts={"namespace": SLURM_NAMESPACE, "storage_class": STORAGE_CLASS},
        needs=("mariadb-operator", "ebs-csi"),
        signals=(Signal("mariadbs.k8s.mariadb.com", "mariadb", Proof.READY, SLURM_NAMESPACE),),
        objects=tuple(_MARIADB_CRDS),
    )


def _slurm(settings: Settings, nodes: SlurmNodes) -> Component:
    """Controller, accounting, login, REST and one slurmd on every GPU node."""
    space, (gres, count) = SLURM_NAMESPACE, nodes.gres
    refs = (("StatefulSet", "controller"), ("StatefulSet", "accounting"), ("Deployment", "restapi"))
    login = WorkloadRef("Deployment", space, "slurm-login-slinky")
    facts = {
        "cluster": settings.cluster_name[:40],
        "storage_class": STORAGE_CLASS,
        "nodes": nodes.count,
        "instance_type": nodes.kind.name,
        "gres": gres,
        "gres_count": count,
        "devices": nodes.devices,
        "cpus": nodes.cpus,
        "memory_mib": nodes.memory_mib,
        "tolerated": list(dict.fromkeys([GPU, NEURON, EFA, *nodes.taints])),
    }
    return Component(
        name="slurm",
        title="Slurm",
        chart=_slurm_chart(settings, "slurm"),
        release="slurm",
        namespace=space,
        workloads=(*(WorkloadRef(kind, space, f"slurm-{one}") for kind, one in refs), login),
        own_namespace=True,
        template="slurm/values.yaml.j2",
        facts=facts,
        needs=("slurm-operator", "slurm-database"),
        signals=(Signal("nodesets.slinky.slurm.net", "slurm-worker-gpu", Proof.REPLICAS, space),),
        objects=tuple(f"{kind}.slinky.slurm.net" for kind in _SLINKY_KINDS),
    )
