"""The Price List service, which moto lacks."""

from clusterctl.sandbox.cloud.pricing.models import pricing_backends

__all__ = ["pricing_backends"]
