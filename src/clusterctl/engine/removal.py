"""Takes away node groups and clusters, and sees them gone: what cannot be removed stops the run rather than leak."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from clusterctl.engine.waiting import look_until
from clusterctl.errors import BusyError, ClusterctlError, InterruptedRunError, LeftoversError
from clusterctl.model.cluster import ClusterState, NodegroupState, StackVerdict
from clusterctl.model.documents import kept_document, resource_document
from clusterctl.model.launch import Patience
from clusterctl.model.leftovers import BLOCKERS, Resource, ResourceKind, removal_command
from clusterctl.model.names import cluster_stack, nodegroup_stack
from clusterctl.ports import AwsWriter, Clock, ClusterReader, Eksctl, LeftoverReader

STACK_TRIES = 3  # the first may find a stack that only waited, the second what is in the way
T = TypeVar("T")
Tell = Callable[[str], None]


class Remover:
    """Deletes through CloudFormation where a stack made the thing, through EKS where none did.

    Its clock is not to be interrupted: a removal that has begun is finished.
    """

    def __init__(
        self, eksctl: Eksctl, reader: ClusterReader, aws: AwsWriter, clock: Clock, leftovers: LeftoverReader
    ) -> None:
        self._eksctl = eksctl
        self._reader = reader
        self._aws = aws
        self._clock = clock
        self._leftovers = leftovers
        self._patience = Patience()

    def nodegroup(self, region: str, cluster: str, name: str, tell: Tell) -> None:
        """Delete a node group without a drain: a disruption budget cannot hold it up."""

        def look() -> NodegroupState:
            state = self._reader.nodegroup(region, cluster, name)
            tell(f"EKS: node group {state.status or 'gone'}, CloudFormation: {state.stack.status or 'gone'}")
            return state

        state = look()
        if state.stack.verdict is not StackVerdict.ABSENT:
            self._delete_stack(region, nodegroup_stack(cluster, name))
        elif state.exists and state.status != "DELETING":
            self._aws.delete_nodegroup(region, cluster, name)
        gone = self._until(look, lambda seen: _nodegroup_gone(seen) or seen.stack.verdict is StackVerdict.UNDELETABLE)
        if gone.exists and gone.stack.verdict is StackVerdict.UNDELETABLE:
            self._aws.delete_nodegroup(region, cluster, name)
            self._until(look, lambda seen: not seen.exists)
            self._delete_stack(region, nodegroup_stack(cluster, name))
            gone = self._until(
                look, lambda seen: _nodegroup_gone(seen) or seen.stack.verdict is StackVerdict.UNDELETABLE
            )
        if not _nodegroup_gone(gone):
            reason = gone.stack.failure.message if gone.stack.failure else None
            raise _left(f"node group {name}", region, reason, nodegroup_stack(cluster, name))

    def own_nodegroup(self, region: str, cluster: str, name: str, tell: Tell) -> None:
        """The same, unless somebody else has made it."""
        state = self._reader.nodegroup(region, cluster, name)
        if state.ours or not state.exists:
            self.nodegroup(region, cluster, name, tell)

    def cluster(self, region: str, name: str, tell: Tell) -> None:
        """Delete a cluster with its stacks. What of its own keeps a stack from going is removed, then it is retried."""
        vpc_id = self._reader.cluster(region, name).vpc_id
        look = self._look(region, name, tell)
        run = self._eksctl.delete_cluster(region, name)
        try:
            state = self._until(look, lambda seen: not run.running and not _cluster_busy(seen))
        finally:
            run.stop()
        kept: tuple[Resource, ...] = ()
        for _ in range(STACK_TRIES):
            if state.stack.verdict is StackVerdict.ABSENT:
                break
            if state.stack.verdict is StackVerdict.UNDELETABLE:
                kept = self._unblock(region, name, vpc_id, tell)
            self._delete_stack(region, cluster_stack(name))
            state = self._until(look, _cluster_settled)
        if not _cluster_gone(state):
            reason = state.stack.failure.message if state.stack.failure else run.tail.strip()[-300:]
            error = _left(f"cluster {name}", region, reason, cluster_stack(name), kept)
            error.details = error.details or run.tail
            raise error

    def _look(self, region: str, name: str, tell: Tell) -> Callable[[], ClusterState]:
        def look() -> ClusterState:
            state = self._reader.cluster(region, name)
            why = f" ({state.stack.failure.message})" if state.stack.failure else ""
            tell(f"EKS: cluster {state.status or 'gone'}, CloudFormation: {state.stack.status or 'gone'}{why}")
            return state

        return look

    def _unblock(self, region: str, name: str, vpc_id: str, tell: Tell) -> tuple[Resource, ...]:
        """Remove what of the cluster's own stands in the way. Returns what stands there and is not its own."""
        found = self._leftovers.search(region, name, vpc_id).resources
        blockers = [one for one in found if one.kind in BLOCKERS]
        for one in (one for one in blockers if one.owned):
            tell(f"{one} is in the way")
            try:
                self.resource(one, tell)
            except InterruptedRunError:
                raise
            except ClusterctlError as problem:
                tell(problem.message)
        return tuple(one for one in blockers if not one.owned)

    def resource(self, resource: Resource, tell: Tell) -> None:
        """Remove one leftover as soon as nothing uses it any more. Raises LeftoversError where that does not end."""

        def attempt() -> BusyError | None:
            try:
                self._aws.remove(resource)
            except BusyError as busy:
                tell(busy.message)
                return busy
            return None

        every_s, limit_s = self._patience.every_s, self._patience.leftover_s
        busy = look_until(self._clock, attempt, lambda seen: seen is None, every_s=every_s, limit_s=limit_s)
        if busy:
            error = LeftoversError(f"{busy.message}, and could not be removed", hint=busy.hint, details=busy.details)
            raise error.with_document({"leftovers": [resource_document(resource)]})

    def _delete_stack(self, region: str, stack: str) -> None:
        """CloudFormation needs a moment to show that it deletes: an older DELETE_FAILED is no answer to this call."""
        self._aws.delete_stack(region, stack)
        self._clock.sleep(self._patience.every_s)

    def _until(self, look: Callable[[], T], done: Callable[[T], bool]) -> T:
        return look_until(self._clock, look, done, every_s=self._patience.every_s, limit_s=self._patience.removal_s)


def _nodegroup_gone(state: NodegroupState) -> bool:
    return not state.exists and state.stack.verdict is StackVerdict.ABSENT


def _cluster_gone(state: ClusterState) -> bool:
    return not state.exists and state.stack.verdict is StackVerdict.ABSENT


def _cluster_busy(state: ClusterState) -> bool:
    return state.status == "DELETING" or state.stack.verdict is StackVerdict.BUSY


def _cluster_settled(state: ClusterState) -> bool:
    return _cluster_gone(state) or state.stack.verdict is StackVerdict.UNDELETABLE


def _left(what: str, region: str, reason: str | None, stack: str, kept: tuple[Resource, ...] = ()) -> LeftoversError:
    """The stack is what is left; `kept` is what stands in its way and is not ours to remove."""
    why = reason or "no reason given"
    command = removal_command(ResourceKind.STACK, stack, region)
    row = resource_document(Resource(ResourceKind.STACK, stack, region, owned=True, why=why, command=command))
    in_the_way = ", ".join(one.resource_id for one in kept)
    error = LeftoversError(
        f"{what} could not be removed: {why}" + (f"; not ours and in the way: {in_the_way}" if kept else ""),
        hint=f"aws cloudformation describe-stack-events --region {region} --stack-name {stack}",
    )
    return error.with_document({"leftovers": [row], "kept": [kept_document(one) for one in kept]})
