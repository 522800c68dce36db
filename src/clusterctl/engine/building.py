"""Makes and mends the cluster itself; what eksctl says is not believed until EKS shows it."""

from __future__ import annotations

from collections.abc import Callable

from clusterctl.engine.actions import CreateCluster
from clusterctl.engine.attempts import CONTROL_PLANE, Attempt, PlaceFailedError
from clusterctl.engine.waiting import look_until
from clusterctl.errors import ClusterctlError, ToolFailedError
from clusterctl.model.cluster import ClusterState, StackVerdict
from clusterctl.model.failures import Cause, classify, root_cause, zones_in
from clusterctl.model.launch import launch_error
from clusterctl.model.names import cluster_stack
from clusterctl.ports import AwsWriter, Clock, ClusterReader, Eksctl, ToolRun

Tell = Callable[[str], None]
EVERY_S = 15.0
CREATE_LIMIT_S = 60 * 60.0
OIDC_LIMIT_S = 5 * 60.0
ADDON_LIMIT_S = 10 * 60.0


class ClusterBuilder:
    """Creates a cluster with eksctl and watches EKS and CloudFormation beside it.

    What is mended in a minute is finished by the `steady` clock, which nothing interrupts.
    """

    def __init__(
        self, eksctl: Eksctl, reader: ClusterReader, aws: AwsWriter, clock: Clock, steady: Clock | None = None
    ) -> None:
        self._eksctl = eksctl
        self._reader = reader
        self._aws = aws
        self._clock = clock
        self._steady = steady or clock

    def create(self, action: CreateCluster, tell: Tell) -> None:
        run = self._eksctl.create_cluster(action.config)
        try:
            state = look_until(
                self._clock, lambda: self._look(action, tell), lambda seen: not run.running and not _busy(seen),
                every_s=EVERY_S, limit_s=CREATE_LIMIT_S,
            )  # fmt: skip
            late = run.running or _busy(state)
        finally:
            run.stop()
        if not state.ready:
            raise _unplaced(action, state, run) or _failed(action, state, run, late=late)

    def associate_oidc(self, region: str, cluster: str) -> None:
        run = self._eksctl.associate_oidc(region, cluster)
        try:
            look_until(
                self._steady,
                lambda: run.running,
                lambda running: not running,
                every_s=EVERY_S,
                limit_s=OIDC_LIMIT_S,
            )
        finally:
            run.stop()
        if run.exit_code:
            raise ToolFailedError("eksctl could not make the OIDC provider", output=run.tail)

    def replace_addon(self, region: str, cluster: str, addon: str) -> None:
        """An add-on in CREATE_FAILED is skipped by eksctl, so it has to go first."""
        self._aws.delete_addon(region, cluster, addon)
        look_until(
            self._steady, lambda: self._reader.cluster(region, cluster).addons, lambda addons: addon not in addons,
            every_s=EVERY_S, limit_s=ADDON_LIMIT_S,
        )  # fmt: skip
        self._aws.create_addon(region, cluster, addon)

    def _look(self, action: CreateCluster, tell: Tell) -> ClusterState:
        state = self._reader.cluster(action.region, action.cluster)
        groups = ", ".join(f"{name} {status}" for name, status in state.nodegroups.items())
        tell(
            f"CloudFormation: {state.stack.status or 'no stack yet'}, "
            f"EKS: {state.status or 'no cluster yet'} {groups}".rstrip()
        )
        return state


def _busy(state: ClusterState) -> bool:
    groups = any(status in ("CREATING", "DELETING") for status in state.nodegroups.values())
    return state.stack.verdict is StackVerdict.BUSY or state.status in ("CREATING", "UPDATING") or groups


def _unplaced(action: CreateCluster, state: ClusterState, run: ToolRun) -> PlaceFailedError | None:
    """Where EKS has no room for a control plane it names the zones that do: the cluster can be made in those."""
    causes = [one for one in (state.stack.failure, classify("", run.tail)) if one and one.zones]
    if not causes:
        return None
    failure = causes[0]
    zone = next(iter(zones_in(failure.message)), "")
    attempt = Attempt(
        action.region, zone, "", failure.cause.value, failure.message.strip()[-300:], failure, CONTROL_PLANE
    )
    return PlaceFailedError(attempt, details=run.tail)


def _failed(action: CreateCluster, state: ClusterState, run: ToolRun, *, late: bool) -> ClusterctlError:
    """The error of the cause that AWS or eksctl named; without one, what eksctl said last."""
    cause = root_cause([one for one in (state.stack.failure, classify("", run.tail)) if one])
    hint = (
        "aws cloudformation describe-stack-events "
        f"--region {action.region} --stack-name {cluster_stack(action.cluster)}"
    )
    if cause and cause.cause is not Cause.UNKNOWN:
        message = f"cluster {action.cluster} was not created: {cause.message.strip()[-300:]}"
        return launch_error(cause, message, hint=hint, details=run.tail)
    last = (run.tail.strip().splitlines() or ["eksctl said nothing"])[-1]
    how = f"not created within {CREATE_LIMIT_S / 60:.0f} minutes; eksctl said last" if late else "not created"
    return ToolFailedError(f"cluster {action.cluster} was {how}: {last[-300:]}", output=run.tail, hint=hint)
