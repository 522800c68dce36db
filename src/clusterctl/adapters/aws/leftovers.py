"""Looks for what a cluster has left on AWS: by the marks on it, and by the VPC that it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from clusterctl.adapters.aws.fanout import side_by_side
from clusterctl.adapters.aws.faults import AWS_FAULTS, failure_of, translated
from clusterctl.adapters.aws.leftover_compute import COMPUTE
from clusterctl.adapters.aws.leftover_network import NETWORK
from clusterctl.adapters.aws.leftover_records import RECORDS
from clusterctl.adapters.aws.leftover_search import Finder, Search
from clusterctl.adapters.aws.leftover_storage import STORAGE
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.model.failures import Cause, Failure, Remedy, Scope
from clusterctl.model.leftovers import REMOVAL_ORDER, Findings, Resource, ResourceKind

SEARCH_LIMIT_S = 90.0
STACK_TAG = "aws:cloudformation:stack-name"
FINDERS: dict[ResourceKind, Finder] = {**COMPUTE, **NETWORK, **STORAGE, **RECORDS}


class LeftoverSearch:
    """Implements ports.LeftoverReader. A kind that AWS does not let us look for is reported as unsearched."""

    def __init__(self, session: AwsSession) -> None:
        self._session = session

    def search(
        self, region: str, cluster: str, vpc_id: str = "", volumes: Sequence[str] = (), since: datetime | None = None
    ) -> Findings:
        search = Search(self._session, region, cluster, vpc_id, frozenset(volumes), since=since)
        with translated(f"look for the VPC of {cluster} in {region}"):
            search = replace(search, vpcs=_vpcs(search))
        answers = side_by_side(FINDERS, lambda kind: _find(FINDERS[kind], search), limit_s=SEARCH_LIMIT_S)
        failed = {kind: answer for kind, answer in answers.items() if isinstance(answer, Failure)}
        silent = {kind: _silence() for kind in FINDERS if kind not in answers}
        found = [one for answer in answers.values() if not isinstance(answer, Failure) for one in answer]
        resources = sorted(_outside_stacks(found), key=lambda one: (REMOVAL_ORDER[one.kind], one.resource_id))
        return Findings(tuple(resources), failed | silent)


def _vpcs(search: Search) -> frozenset[str]:
    """The VPC that the cluster stood in, and those that were made for it: they outlive it where something is left."""
    made = {one["VpcId"] for one in search.marked("describe_vpcs", "Vpcs")}
    return frozenset(made | {search.vpc_id}) - {""}


def _find(finder: Finder, search: Search) -> tuple[Resource, ...] | Failure:
    try:
        return tuple(finder(search))
    except AWS_FAULTS as fault:
        return failure_of(fault)


def _outside_stacks(found: Sequence[Resource]) -> Iterator[Resource]:
    """What goes with a stack that is still there is not counted twice."""
    stacks = {one.resource_id for one in found if one.kind is ResourceKind.STACK}
    yield from (one for one in found if one.tags.get(STACK_TAG) not in stacks)


def _silence() -> Failure:
    message = f"no answer within {SEARCH_LIMIT_S:.0f} s"
    return Failure(Cause.TRANSIENT, Scope.CALL, Remedy.RETRY, "NoAnswer", message)
