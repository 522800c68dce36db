"""The files that kustomize builds a component from: the same for the cluster, a reviewer and a repository."""

from __future__ import annotations

from clusterctl.model.kube import Component

COMPONENT_LABEL = "clusterctl/component"
KUSTOMIZATION, RESOURCES = "kustomization.yaml", "resources.yaml"


def kustomize_files(component: Component, values: str, published: str) -> dict[str, str]:
    """Texts by file name: ours alone, or ours over what is `published` at an address or in a file beside them."""
    import yaml

    files = {} if published else {RESOURCES: values}
    ours = dict(yaml.safe_load(values)) if published else {}
    labels = [{"pairs": {COMPONENT_LABEL: component.name}}]
    kustomization = {**ours, "resources": [published or RESOURCES], "labels": labels}
    return {**files, KUSTOMIZATION: yaml.safe_dump(kustomization)}
