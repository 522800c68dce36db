"""A parsed config with eksctl's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DEFAULT_VERSION = "1.34"
DEFAULT_CIDR = "192.168.0.0/16"


@dataclass(frozen=True, slots=True)
class NodegroupConfig:
    """One entry of managedNodeGroups."""

    raw: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.raw.get("name", ""))

    @property
    def instance_types(self) -> list[str]:
        """The types asked for; eksctl's own default without any."""
        one = self.raw.get("instanceType")
        return [one] if one else list(self.raw.get("instanceTypes") or ["m5.large"])

    @property
    def ami_family(self) -> str:
        return str(self.raw.get("amiFamily") or "AmazonLinux2023")

    @property
    def sizes(self) -> dict[str, int]:
        """minSize, maxSize and desiredSize."""
        desired, low, high = (self.raw.get(key) for key in ("desiredCapacity", "minSize", "maxSize"))
        if desired is None:
            desired = low if low is not None else 2
        low = desired if low is None else low
        high = max(desired, low) if high is None else high
        return {"minSize": low, "maxSize": high, "desiredSize": desired}

    @property
    def zones(self) -> list[str]:
        return list(self.raw.get("availabilityZones") or [])

    @property
    def subnets(self) -> list[str]:
        return list(self.raw.get("subnets") or [])

    @property
    def private(self) -> bool:
        return bool(self.raw.get("privateNetworking"))

    @property
    def efa(self) -> bool:
        return bool(self.raw.get("efaEnabled"))

    @property
    def reservation(self) -> dict[str, Any]:
        return dict(self.raw.get("capacityReservation") or {})

    @property
    def market(self) -> str:
        return str((self.raw.get("instanceMarketOptions") or {}).get("marketType") or "")

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.raw.get("labels") or {})

    @property
    def taints(self) -> list[dict[str, str]]:
        return list(self.raw.get("taints") or [])


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """A whole config file."""

    raw: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self._section("metadata").get("name", ""))

    @property
    def region(self) -> str:
        return str(self._section("metadata").get("region", ""))

    @property
    def version(self) -> str:
        given = str(self._section("metadata").get("version") or "")
        return DEFAULT_VERSION if given in {"", "auto"} else given

    @property
    def tags(self) -> dict[str, str]:
        return dict(self._section("metadata").get("tags") or {})

    @property
    def zones(self) -> list[str]:
        return list(self.raw.get("availabilityZones") or [])

    @property
    def vpc(self) -> dict[str, Any]:
        return self._section("vpc")

    @property
    def nat(self) -> str:
        return str((self.vpc.get("nat") or {}).get("gateway") or "Single")

    @property
    def endpoints(self) -> dict[str, bool]:
        wanted = self.vpc.get("clusterEndpoints") or {}
        return {"public": wanted.get("publicAccess", True), "private": wanted.get("privateAccess", False)}

    @property
    def with_oidc(self) -> bool:
        return bool(self._section("iam").get("withOIDC"))

    @property
    def addons(self) -> list[dict[str, Any]]:
        return list(self.raw.get("addons") or [])

    @property
    def addons_config(self) -> dict[str, Any]:
        return self._section("addonsConfig")

    @property
    def access(self) -> dict[str, Any]:
        return self._section("accessConfig")

    @property
    def auto_mode(self) -> bool:
        return bool(self._section("autoModeConfig").get("enabled"))

    @property
    def logging(self) -> dict[str, Any]:
        return dict(self._section("cloudWatch").get("clusterLogging") or {})

    @property
    def nodegroups(self) -> list[NodegroupConfig]:
        return [NodegroupConfig(item) for item in self.raw.get("managedNodeGroups") or []]

    def _section(self, name: str) -> dict[str, Any]:
        return dict(self.raw.get(name) or {})
