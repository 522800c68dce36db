"""Kubernetes versions and add-on versions that EKS offers (as of August 2026)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

DEFAULT_VERSION = "1.34"
_STANDARD, _EXTENDED = "STANDARD_SUPPORT", "EXTENDED_SUPPORT"
_SUPPORT = {"1.35": _STANDARD, "1.34": _STANDARD, "1.33": _STANDARD, "1.32": _EXTENDED, "1.31": _EXTENDED}
SUPPORTED_VERSIONS = frozenset(_SUPPORT)

ADDON_VERSIONS = {
    "vpc-cni": "v1.21.1-eksbuild.1",
    "kube-proxy": "v1.34.0-eksbuild.4",
    "coredns": "v1.12.4-eksbuild.1",
    "metrics-server": "v0.8.0-eksbuild.5",
    "eks-pod-identity-agent": "v1.3.10-eksbuild.1",
    "aws-ebs-csi-driver": "v1.53.0-eksbuild.1",
    "aws-efs-csi-driver": "v2.1.14-eksbuild.1",
    "aws-fsx-csi-driver": "v1.7.0-eksbuild.1",
    "snapshot-controller": "v8.3.0-eksbuild.1",
    "eks-node-monitoring-agent": "v1.4.2-eksbuild.1",
    "amazon-cloudwatch-observability": "v4.7.0-eksbuild.1",
}


def version_rows(wanted: list[str] | None, *, default_only: bool) -> list[dict[str, Any]]:
    """The answer of DescribeClusterVersions."""
    rows = [_version_row(version) for version in _SUPPORT]
    chosen = [row for row in rows if not wanted or row["clusterVersion"] in wanted]
    return [row for row in chosen if row["defaultVersion"]] if default_only else chosen


def _version_row(version: str) -> dict[str, Any]:
    minor = int(version.split(".")[1])
    released = datetime(2024 + (minor - 30) // 3, 1 + 4 * ((minor - 30) % 3), 20, tzinfo=UTC)
    return {
        "clusterVersion": version,
        "clusterType": "eks",
        "defaultVersion": version == DEFAULT_VERSION,
        "defaultPlatformVersion": "eks.9",
        "status": _SUPPORT[version].lower().replace("_", "-"),
        "versionStatus": _SUPPORT[version],
        "kubernetesPatchVersion": f"{version}.2",
        "releaseDate": released,
        "endOfStandardSupportDate": released.replace(year=released.year + 1),
        "endOfExtendedSupportDate": released.replace(year=released.year + 2),
    }


def addon_rows(name: str | None, cluster_version: str | None) -> list[dict[str, Any]]:
    """The answer of DescribeAddonVersions."""
    versions = [cluster_version] if cluster_version else sorted(_SUPPORT, reverse=True)
    return [_addon_row(addon, versions) for addon in ADDON_VERSIONS if name in {None, addon}]


def _addon_row(addon: str, versions: list[str]) -> dict[str, Any]:
    fits = [{"clusterVersion": one, "platformVersions": ["*"], "defaultVersion": True} for one in versions]
    return {
        "addonName": addon,
        "type": "networking" if addon in {"vpc-cni", "kube-proxy", "coredns"} else "infra-management",
        "publisher": "eks",
        "owner": "aws",
        "addonVersions": [
            {
                "addonVersion": ADDON_VERSIONS[addon],
                "architecture": ["amd64", "arm64"],
                "computeTypes": ["ec2", "auto", "hybrid"],
                "compatibilities": fits,
                "requiresConfiguration": False,
                "requiresIamPermissions": addon in {"vpc-cni", "aws-ebs-csi-driver", "aws-efs-csi-driver"},
            }
        ],
    }
