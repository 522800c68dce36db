"""The parts that make up AWS, in the order in which they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.cloud.ec2.extension import extension as ec2
from clusterctl.sandbox.cloud.identity import extension as identity
from clusterctl.sandbox.cloud.orchestration import extension as orchestration
from clusterctl.sandbox.cloud.permissions import extension as permissions
from clusterctl.sandbox.cloud.pricing.extension import extension as pricing
from clusterctl.sandbox.cloud.service_quotas import extension as service_quotas

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.extension import Part

PARTS: tuple[Part, ...] = (ec2, identity, permissions, service_quotas, pricing, orchestration)
