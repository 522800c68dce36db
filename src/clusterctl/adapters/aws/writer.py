"""Changes to add-ons, node groups and stacks. What is already as wanted is not an error."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from botocore.exceptions import ClientError

from clusterctl.adapters.aws.faults import code_of, translated
from clusterctl.adapters.aws.removal import remove_resource
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.adapters.aws.stacks import says_absent
from clusterctl.adapters.aws.tagging import set_tags
from clusterctl.model.leftovers import Resource

_GONE = "ResourceNotFoundException"
_IN_USE = "ResourceInUseException"  # being made, or being deleted, already


class AwsWriterClient:
    """Implements ports.AwsWriter. Every call returns before its effect is complete: the caller looks for it."""

    def __init__(self, session: AwsSession) -> None:
        self._session = session

    def create_addon(self, region: str, cluster: str, addon: str) -> None:
        with translated(f"add {addon} to {cluster}"), _unless({_IN_USE}):
            self._session.client("eks", region).create_addon(
                clusterName=cluster, addonName=addon, resolveConflicts="OVERWRITE"
            )

    def delete_addon(self, region: str, cluster: str, addon: str) -> None:
        with translated(f"delete {addon} of {cluster}"), _unless({_GONE}):
            self._session.client("eks", region).delete_addon(clusterName=cluster, addonName=addon)

    def delete_nodegroup(self, region: str, cluster: str, nodegroup: str) -> None:
        with translated(f"delete node group {nodegroup} of {cluster}"), _unless({_GONE, _IN_USE}):
            self._session.client("eks", region).delete_nodegroup(clusterName=cluster, nodegroupName=nodegroup)

    def delete_stack(self, region: str, stack: str) -> None:
        """Lift termination protection, which eksctl sets on every stack, and begin to delete."""
        client = self._session.client("cloudformation", region)
        with translated(f"delete stack {stack}"), _unless_absent():
            client.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
            client.delete_stack(StackName=stack)

    def remove(self, resource: Resource) -> None:
        """Remove one thing that a teardown found. Raises UsageError for one that does not carry our mark."""
        with translated(f"delete {resource}"):
            remove_resource(self._session, resource, self.delete_stack)

    def tag(self, region: str, resources: Sequence[str], tags: Mapping[str, str]) -> None:
        """Set tags on what is still there: ARNs of EKS, ids of EC2."""
        with translated(f"tag {len(resources)} resource(s) in {region}"):
            set_tags(self._session, region, resources, tags)


@contextmanager
def _unless(codes: Collection[str]) -> Iterator[None]:
    try:
        yield
    except ClientError as fault:
        if code_of(fault) not in codes:
            raise


@contextmanager
def _unless_absent() -> Iterator[None]:
    try:
        yield
    except ClientError as fault:
        if not says_absent(fault):
            raise
