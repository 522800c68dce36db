"""EC2's own sentences, as public logs show them."""

from __future__ import annotations

NOT_SUPPORTED = (
    "The requested configuration is currently not supported. "
    "Please check the documentation for supported configurations."
)
RESERVATION_FULL = (
    "The requested reservation does not have sufficient compatible and available capacity for this request."
)
SPOT_UNFULFILLABLE = (
    "Unable to fulfill capacity due to your request configuration. Please adjust your request and try again."
)


def not_supported_in_zone(instance_type: str, zone: str, others: list[str]) -> str:
    return (
        f"Your requested instance type ({instance_type}) is not supported in your requested Availability "
        f"Zone ({zone}). Please retry your request by not specifying an Availability Zone or choosing "
        f"{', '.join(others)}."
    )


def limit_exceeded(limit: float) -> str:
    return (
        f"You have requested more vCPU capacity than your current vCPU limit of {limit:.0f} allows for the "
        "instance bucket that the specified instance type belongs to. Please visit "
        "http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit."
    )


def scarce(instance_type: str, zone: str, others: list[str]) -> str:
    """Lack of capacity at a launch; the zones that have some are named."""
    hint = (
        f" You can currently get {instance_type} capacity by not specifying an Availability Zone in your "
        f"request or choosing {', '.join(others)}."
    )
    return (
        f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you "
        f"requested ({zone}). Our system will be working on provisioning additional capacity."
        + (hint if others else "")
    )


def unknown_type(instance_types: list[str]) -> str:
    return f"The following supplied instance types do not exist: [{', '.join(instance_types)}]"
