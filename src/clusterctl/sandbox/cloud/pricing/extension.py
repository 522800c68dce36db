"""The Price List's part of AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.cloud import pricing
from clusterctl.sandbox.cloud.extension import Extension, NewService, bound_to
from clusterctl.sandbox.cloud.pricing import urls
from clusterctl.sandbox.cloud.pricing.responses import PricingResponse

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.world import World


def extension(world: World) -> Extension:
    """Pricing for this world."""
    urls.url_paths["{0}/$"] = bound_to(world, PricingResponse).dispatch
    return Extension(
        name="pricing",
        new_services={"pricing": NewService(pricing, urls.url_bases[0])},
        preload=("pricing",),
    )
