#!/usr/bin/env python3
"""Writes the table of settings: keys, defaults and limits as the model has them, with what each is for."""

from __future__ import annotations

import argparse
import types
from pathlib import Path
from typing import Any, get_args

import annotated_types
from pydantic.fields import FieldInfo

from clusterctl.model.settings import Settings

BEGIN = "<!-- settings: written by scripts/settings_table.py -->"
END = "<!-- settings: end -->"

# setting -> the option that sets it, if there is one, and what it is for
MEANINGS: dict[str, tuple[str, str]] = {
    "cluster_name": ("--cluster-name", "name of the EKS cluster"),
    "region": ("--region", "region of the cluster; the one searched when `REGIONS` is empty"),
    "regions": ("--regions", "regions to search, in order of preference"),
    "azs": ("--azs", "zones to consider, as names or ids"),
    "k8s_version": ("", "Kubernetes version of a new cluster"),
    "node_ami_family": ("", "eksctl's AMI family of all nodes"),
    "system_node_type": ("", "instance type of the system nodes"),
    "system_node_count": ("", "number of system nodes; operators run on them"),
    "gpu_node_type": ("", "instance type of the GPU nodes when `INSTANCE_TYPES` is empty"),
    "gpu_node_count": ("--nodes", "number of GPU nodes"),
    "gpu_nodegroup_name": ("", "name of the GPU node group"),
    "gpu_az": ("", "the one zone to consider when `AZS` is empty"),
    "gpu_taint": ("", "put a taint on GPU nodes that only GPU workloads tolerate"),
    "gpus_per_node": ("", "no choice but a check: an error if EC2 says another number of the type"),
    "instance_types": ("--instance-types", "instance types, the most wanted first"),
    "capacity_reservation_id": ("", "launch into this reservation or capacity block"),
    "assume_yes": ("--yes", "do not ask"),
    "owner": ("", "value of the tag `clusterctl:owner`; the user's name when empty"),
    "ttl": ("--ttl", "after how long the tag `clusterctl:expires-at` says that the cluster may go: `4h`, `1d12h`"),
    "max_hourly_usd": ("--max-hourly-usd", "refuse a plan that costs more an hour"),
    "operators": ("--with", "operators to install: `ray`, `slurm`, `volcano`, `mpi`"),
    "dlc_image": ("", "image of training pods"),
    "kuberay_version": ("", "chart version of the KubeRay operator"),
    "volcano_version": ("", "chart version of Volcano"),
    "mpi_operator_version": ("", "version of the MPI operator's manifest"),
    "slinky_version": ("", "version of Slinky's charts"),
    "cert_manager_version": ("", "chart version of cert-manager, which Slinky needs"),
    "ebs_csi_driver_version": ("", "chart version of the EBS CSI driver, for Slurm's state and accounting"),
    "mariadb_operator_version": ("", "chart version of the MariaDB operator, for Slurm's accounting"),
    "ray_version": ("", "Ray version of the training image"),
    "nvidia_device_plugin_version": ("", "chart version of NVIDIA's device plugin"),
    "efa_device_plugin_version": ("", "chart version of the EFA device plugin"),
    "neuron_helm_chart_version": ("", "chart version of the Neuron device plugin"),
    "namespace": ("", "namespace of training workloads"),
    "ray_cluster_name": ("", "name of the Ray cluster"),
    "model_id": ("", "model to train"),
    "steps": ("", "training steps"),
    "seq_len": ("", "tokens in a sequence"),
    "batch_size": ("", "sequences for each GPU and step"),
    "learning_rate": ("", "learning rate"),
    "num_workers": ("", "training workers; one for each GPU when not set"),
}


def table() -> str:
    """The whole table, in the order of the model. Raises SystemExit if settings and meanings differ."""
    wrong = set(MEANINGS) ^ set(Settings.model_fields)
    if wrong:
        raise SystemExit(f"settings and meanings differ: {', '.join(sorted(wrong))}")
    rows = [_row(name, field) for name, field in Settings.model_fields.items()]
    return "\n".join(["| Setting | Default | Takes | Option | What it is |", "|---|---|---|---|---|", *rows])


def _row(name: str, field: FieldInfo) -> str:
    option, meaning = MEANINGS[name]
    cells = (f"`{name.upper()}`", _default(field.default), _takes(field), f"`{option}`" if option else "", meaning)
    return f"| {' | '.join(cells)} |"


def _default(value: Any) -> str:
    if value in (None, "", ()):
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{','.join(value) if isinstance(value, tuple) else value}`"


def _takes(field: FieldInfo) -> str:
    limits = [_limit(one) for one in field.metadata if _limit(one)]
    return ", ".join([_kind(field.annotation), *limits])


def _kind(annotation: Any) -> str:
    if isinstance(annotation, types.UnionType):
        annotation = get_args(annotation)[0]
    known = {bool: "yes or no", int: "whole number", float: "number", str: "text"}
    return known.get(annotation, "list, with commas")


def _limit(rule: Any) -> str:
    match rule:
        case annotated_types.Ge(ge=least):
            return f"{least} or more"
        case annotated_types.Gt(gt=below):
            return f"above {below}"
        case annotated_types.Le(le=most):
            return f"{most} at most"
    pattern = getattr(rule, "pattern", None)
    return f"like `{pattern}`" if pattern else ""


def rewritten(page: str) -> str:
    """The page with a fresh table between its marks. Raises ValueError for a page without marks."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, nargs="?", help="a page with marks to write the table into; else printed")
    page: Path | None = parser.parse_args().page
    if page is None:
        print(table())
    else:
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
