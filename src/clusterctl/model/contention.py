"""Work of another run that is under way at this moment: told from tags, since its lock may be on another machine."""

from __future__ import annotations

from datetime import datetime

from clusterctl.errors import BusyError
from clusterctl.model.cluster import TAG_OWNER, TAG_RUN, ClusterState, NodegroupState
from clusterctl.model.run import RunContext
from clusterctl.model.standing import Standing, cluster_standing, nodegroup_standing


def refuse_work_of_others(run: RunContext, state: ClusterState | NodegroupState) -> None:
    """Raise BusyError for what a run that may still be alive is making or removing; it names who, and since when.

    Runs that this machine's journal knows are over: what they left in flight is ours to go on with.
    """
    if isinstance(state, ClusterState):
        what, standing = f"cluster {state.name}", cluster_standing(state.status, state.stack)
    else:
        what, standing = f"node group {state.name}", nodegroup_standing(state.status, state.stack)
    if standing not in (Standing.COMING, Standing.GOING) or _is_known(run, tags := state.stack.tags | state.tags):
        return
    if is_removed(state) and state.name in run.earlier.removals:
        return
    doing, since = "made", state.created or state.stack.created
    if is_removed(state):
        doing, since = "removed", state.stack.deleted
    raise _busy(f"{what} is being {doing}", tags, since)


def is_removed(state: ClusterState | NodegroupState) -> bool:
    """Whether EKS or CloudFormation is deleting it at this moment."""
    return state.status == "DELETING" or state.stack.status == "DELETE_IN_PROGRESS"


def refuse_system_nodes_of_others(run: RunContext, state: ClusterState) -> None:
    """The same for the system node group, of which a cluster's state shows its stack alone."""
    stack = state.system_stack
    if stack.status == "CREATE_IN_PROGRESS" and not _is_known(run, stack.tags):
        raise _busy(f"the system node group of {state.name} is being made", stack.tags, stack.created)


def _is_known(run: RunContext, tags: dict[str, str]) -> bool:
    """Whether this run made it, or one that is over; what has no mark of a run tells nothing of others."""
    maker = tags.get(TAG_RUN, "")
    return maker in ("", run.run_id) or maker in run.earlier.runs


def _busy(what: str, tags: dict[str, str], since: datetime | None) -> BusyError:
    owner = f" of {tags[TAG_OWNER]}" if TAG_OWNER in tags else ""
    when = f" since {since:%Y-%m-%d %H:%M} UTC" if since else ""
    return BusyError(
        f"{what}{when}, and not by this run: it belongs to run {tags.get(TAG_RUN)}{owner}",
        hint="wait for its end: AWS finishes by itself what a killed run had begun, and then this can be run again",
    )
