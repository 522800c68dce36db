"""The store that moto expects of every service; prices come from the world."""

from moto.core.base_backend import BackendDict, BaseBackend


class PricingBackend(BaseBackend):  # type: ignore[misc]
    """Empty: nothing in a price list changes."""


pricing_backends = BackendDict(PricingBackend, "pricing")
