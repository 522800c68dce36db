"""Makes a node group with eksctl and watches EKS and Auto Scaling beside it: success and failure are read there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from clusterctl.engine.actions import AwaitNodegroup, CreateNodegroup
from clusterctl.engine.attempts import Attempt, PlaceFailedError
from clusterctl.engine.waiting import look_until
from clusterctl.errors import ToolFailedError
from clusterctl.model.cluster import NodegroupState, StackVerdict
from clusterctl.model.failures import Cause, Failure
from clusterctl.model.launch import Patience, final_cause, give_up
from clusterctl.ports import Clock, ClusterReader, Eksctl, ToolRun

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Look:
    state: NodegroupState
    failure: Failure | None
    over: bool


class NodegroupLauncher:
    """Creates one node group, or attaches to one that is being made. Raises PlaceFailedError with the root cause."""

    def __init__(self, eksctl: Eksctl, reader: ClusterReader, clock: Clock, patience: Patience | None = None) -> None:
        self._eksctl = eksctl
        self._reader = reader
        self._clock = clock
        self._patience = patience or Patience()

    def create(self, action: CreateNodegroup, tell: Tell) -> None:
        since = self._clock.now()
        run = self._eksctl.create_nodegroup(action.config)
        try:
            look = self._watch(action, since, run, tell)
        finally:
            run.stop()
        self._conclude(action, since, look, run)

    def attach(self, action: AwaitNodegroup, tell: Tell) -> None:
        state = self._reader.nodegroup(action.region, action.cluster, action.nodegroup)
        since = state.created or self._clock.now()
        look = self._watch(action, since, None, tell)
        self._conclude(action, since, look, None)

    def _watch(
        self, action: CreateNodegroup | AwaitNodegroup, since: datetime, run: ToolRun | None, tell: Tell
    ) -> _Look:
        def look() -> _Look:
            working = run is not None and run.running
            state = self._reader.nodegroup(action.region, action.cluster, action.nodegroup)
            tell(_progress(state))
            failure = give_up(state, since, self._clock.now(), self._patience)
            settled = state.stack.verdict is not StackVerdict.BUSY and state.status not in (
                "CREATING",
                "UPDATING",
            )
            return _Look(state, failure, over=settled and not working)

        patience = self._patience
        seen = look_until(
            self._clock, look, lambda one: one.over or one.failure is not None,
            every_s=patience.every_s, limit_s=patience.limit_s,
        )  # fmt: skip
        late = None if seen.over or seen.failure or seen.state.ready else final_cause(seen.state, since)
        return replace(seen, failure=seen.failure or late)

    def _conclude(
        self, action: CreateNodegroup | AwaitNodegroup, since: datetime, look: _Look, run: ToolRun | None
    ) -> None:
        state, tail = look.state, run.tail if run else ""
        if look.failure is None and state.ready:
            return
        nothing = not state.exists and state.stack.verdict is StackVerdict.ABSENT
        failure = look.failure or final_cause(state, since)
        if nothing and run is not None and failure.cause is Cause.UNKNOWN:
            raise ToolFailedError(
                _nothing_made(action, run),
                output=tail,
                hint=f"clusterctl nodegroup -v, or look at stack {state.stack.name}",
            )
        kind = action.instance_type if isinstance(action, CreateNodegroup) else state.instance_type
        zone = action.zone or ",".join(state.zones)
        reason = failure.message or failure.code
        attempt = Attempt(action.region, zone, kind, failure.cause.value, reason, failure, action.nodegroup)
        raise PlaceFailedError(attempt, details=tail)


def _nothing_made(action: CreateNodegroup | AwaitNodegroup, run: ToolRun) -> str:
    last = run.tail.strip().splitlines()[-1:] or ["it printed nothing"]
    return f"eksctl ended with {run.exit_code} and made no node group {action.nodegroup}: {last[0]}"


def _progress(state: NodegroupState) -> str:
    if not state.exists:
        return f"CloudFormation: {state.stack.status or 'no stack yet'}"
    if state.activities:
        newest = max(state.activities, key=lambda one: one.at)
        if newest.status == "Failed":
            return f"Auto Scaling: {newest.message}"
    return f"EKS: node group {state.status}, {state.instances} of {state.desired} instances"
