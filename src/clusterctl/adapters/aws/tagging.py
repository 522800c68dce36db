"""Sets tags on what exists: EKS by ARN, EC2 by id. What has gone in the meantime needs no tag any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from clusterctl.adapters.aws.faults import code_of
from clusterctl.adapters.aws.session import AwsSession

AT_ONCE = 100
_GONE = ("NotFound", "Unknown")


def set_tags(session: AwsSession, region: str, resources: Sequence[str], tags: Mapping[str, str]) -> None:
    """Raises ClientError for what may not be tagged; everything before it has its tags then."""
    eks = session.client("eks", region)
    for arn in (one for one in resources if one.startswith("arn:")):
        _unless_gone(eks.tag_resource, resourceArn=arn, tags=dict(tags))
    rest = [one for one in resources if not one.startswith("arn:")]
    for start in range(0, len(rest), AT_ONCE):
        _tag_some(session.client("ec2", region), rest[start : start + AT_ONCE], tags)


def _tag_some(ec2: Any, resources: Sequence[str], tags: Mapping[str, str]) -> None:
    """EC2 tags none of those that it is given where one of them is not there: then each by itself."""
    rows = [{"Key": key, "Value": value} for key, value in tags.items()]
    if not _unless_gone(ec2.create_tags, Resources=list(resources), Tags=rows):
        for one in resources:
            _unless_gone(ec2.create_tags, Resources=[one], Tags=rows)


def _unless_gone(call: Callable[..., Any], **arguments: Any) -> bool:
    """False where AWS says that a thing is not there."""
    try:
        call(**arguments)
    except ClientError as fault:
        if not any(word in code_of(fault) for word in _GONE):
            raise
        return False
    return True
