"""EC2's vCPU quotas: codes, what an untouched account has, and what the scenario applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from clusterctl.sandbox.scenario import Scenario

STANDARD = "L-1216C47A"
_STANDARD_FAMILIES = "A, C, D, H, I, M, R, T, Z"
_APPLIED = {STANDARD: 640.0, "L-DB2E81BA": 768.0, "L-417A185B": 1536.0, "L-2C3B7624": 512.0}


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota in vCPUs. `usage_class` is its CloudWatch dimension, `families` the type prefixes it bounds."""

    code: str
    name: str
    usage_class: str | None = None
    default: float = 0.0
    families: tuple[str, ...] = ()
    spot_code: str | None = None


_ALL = (
    Quota(
        STANDARD, f"Running On-Demand Standard ({_STANDARD_FAMILIES}) instances", "Standard/OnDemand", 5.0,
        ("a", "c", "d", "h", "i", "m", "r", "t", "z"), "L-34B43A08",
    ),
    Quota("L-DB2E81BA", "Running On-Demand G and VT instances", "G/OnDemand", 0.0, ("g", "vt"), "L-3819A6DF"),
    Quota("L-417A185B", "Running On-Demand P instances", "P/OnDemand", 0.0, ("p",), "L-7212CCBC"),
    Quota("L-2C3B7624", "Running On-Demand Trn instances", "Trn/OnDemand", 0.0, ("trn",), "L-6B0D517C"),
    Quota("L-6E869C2A", "Running On-Demand DL instances", "DL/OnDemand", 0.0, ("dl",), "L-85EED4F7"),
    Quota("L-1945791B", "Running On-Demand Inf instances", "Inf/OnDemand", 0.0, ("inf",), "L-B5D1601B"),
    Quota("L-74FC7D96", "Running On-Demand F instances", "F/OnDemand", 0.0, ("f",), "L-88CF9481"),
    Quota("L-7295265B", "Running On-Demand X instances", "X/OnDemand", 0.0, ("x",), "L-E3A00192"),
    Quota("L-43DA4232", "Running On-Demand High Memory instances", None, 0.0, ("u-", "u7")),
    Quota("L-F7808C92", "Running On-Demand HPC instances", None, 0.0, ("hpc",)),
    Quota("L-34B43A08", f"All Standard ({_STANDARD_FAMILIES}) Spot Instance Requests", "Standard/Spot", 5.0),
    Quota("L-3819A6DF", "All G and VT Spot Instance Requests", "G/Spot"),
    Quota("L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests", "P/Spot"),
    Quota("L-6B0D517C", "All Trn Spot Instance Requests", "Trn/Spot"),
    Quota("L-85EED4F7", "All DL Spot Instance Requests", "DL/Spot"),
    Quota("L-B5D1601B", "All Inf Spot Instance Requests", "Inf/Spot"),
    Quota("L-88CF9481", "All F Spot Instance Requests", "F/Spot"),
    Quota("L-E3A00192", "All X Spot Instance Requests", "X/Spot"),
    Quota("L-2C8F52B3", "Concurrent P4d instances in Capacity Blocks per account"),
    Quota("L-CFF3E941", "Concurrent P4de instances in Capacity Blocks per account"),
    Quota("L-DA6814F2", "Concurrent P5 instances in Capacity Blocks per account"),
    Quota("L-C45F30BC", "Concurrent P5e instances in Capacity Blocks per account"),
    Quota("L-4F9BB70B", "Concurrent P5en instances in Capacity Blocks per account"),
    Quota("L-2E30FD7D", "Concurrent Trn1 instances in Capacity Blocks per account"),
    Quota("L-64569A79", "Concurrent Trn2 instances in Capacity Blocks per account"),
)  # fmt: skip
QUOTAS = {quota.code: quota for quota in _ALL}


def on_demand_quota(instance_type: str) -> Quota:
    """The quota that bounds a type: the longest family prefix wins (`trn` before `t`)."""
    fits = [
        (len(prefix), quota.code) for quota in _ALL for prefix in quota.families if instance_type.startswith(prefix)
    ]
    return QUOTAS[max(fits)[1]] if fits else QUOTAS[STANDARD]


@dataclass(frozen=True, slots=True)
class IncreaseRequest:
    """A request for a larger quota; AWS answers within days, so it stays open here."""

    request_id: str
    region: str
    code: str
    desired: float
    created: datetime

    def status(self, now: datetime) -> str:
        return "PENDING" if (now - self.created).total_seconds() < 60 else "CASE_OPENED"


class QuotaBook:
    """What is applied to the account, region by region; the scenario overrides the demo's values."""

    def __init__(self) -> None:
        self.requests: list[IncreaseRequest] = []
        self._overrides: dict[str, dict[str, float]] = {}

    def rehearse(self, scenario: Scenario) -> None:
        self._overrides = scenario.quotas

    def applied(self, region: str, code: str) -> float | None:
        """vCPUs applied to the account; None where nothing was ever applied."""
        for place in (region, "*"):
            if code in self._overrides.get(place, {}):
                return self._overrides[place][code]
        return _APPLIED.get(code)

    def limit(self, region: str, code: str) -> float:
        """vCPUs that EC2 enforces."""
        applied = self.applied(region, code)
        return QUOTAS[code].default if applied is None else applied
