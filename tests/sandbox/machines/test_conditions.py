"""A controller that says what it has said already writes nothing: its own write would wake it again, for ever."""

from __future__ import annotations

import asyncio
import copy
from typing import Any, cast

from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.kube.machines.client import KubeClient
from clusterctl.sandbox.kube.machines.cluster import Cluster
from clusterctl.sandbox.kube.machines.kinds import Kind

THING = Kind("example.com", "v1", "things", "Thing")
READY, NOT_READY = ("True", "Ready", ""), ("False", "NotReady", "still starting")


class Api:
    """Takes replacements, and keeps them."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []

    async def replace(self, kind: Kind, obj: dict[str, Any], subresource: str = "") -> dict[str, Any]:
        self.written.append(copy.deepcopy(obj))
        return obj


def told(*words: tuple[str, str, str]) -> list[list[dict[str, Any]]]:
    """The conditions after each write of a controller that says these words one after the other."""
    api = Api()
    cluster = Cluster(cast("KubeClient", api), SimClock.starting_now(3600))

    async def tell() -> None:
        thing: dict[str, Any] = {"metadata": {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}}
        for one in words:
            thing = await cluster.set_condition(THING, thing, "Ready", one) or thing
            await asyncio.sleep(0.002)  # seconds of simulated time

    asyncio.run(tell())
    return [one["status"]["conditions"] for one in api.written]


def test_what_is_said_already_is_not_written_again() -> None:
    assert len(told(READY, READY, READY)) == 1


def test_a_change_is_written_and_moves_the_time_of_transition() -> None:
    first, second = told(NOT_READY, READY)
    assert [one["status"] for one in (*first, *second)] == ["False", "True"]
    assert second[0]["lastTransitionTime"] > first[0]["lastTransitionTime"]
