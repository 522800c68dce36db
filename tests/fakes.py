"""Small fakes for the engine and the stages: a clock whose sleep is time, readers that answer from a script, writers
that remember what they were told. Nothing here waits, and nothing leaves the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from clusterctl.engine.events import Event
from clusterctl.engine.executor import Executor, Hands
from clusterctl.errors import BusyError, InterruptedRunError
from clusterctl.model.capacity import Reservation
from clusterctl.model.cluster import ClusterState, NodegroupState, ScalingActivity, StackState
from clusterctl.model.leftovers import Findings, Resource
from clusterctl.model.placement import Placement

T = TypeVar("T")
START = datetime(2026, 11, 30, 12, tzinfo=UTC)


class FakeClock:
    """Sleeping is the only thing that makes time go by. Past `interrupted_after_s` every sleep is interrupted."""

    def __init__(self, interrupted_after_s: float | None = None) -> None:
        self.slept_s = 0.0
        self._limit = interrupted_after_s
        self._lock = threading.Lock()

    def now(self) -> datetime:
        return START + timedelta(seconds=self.slept_s)

    def sleep(self, seconds: float) -> None:
        with self._lock:
            if self._limit is not None and self.slept_s + seconds > self._limit:
                raise InterruptedRunError("interrupted")
            self.slept_s += seconds


class Recorder:
    """An event sink that keeps everything, and the words that a tool tells."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.words: list[str] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def tell(self, words: str) -> None:
        self.words.append(words)

    def of(self, kind: type[T]) -> list[T]:
        return [one for one in self.events if isinstance(one, kind)]


def script(*answers: T) -> Callable[[], T]:
    """Each answer once, in order, then the last one for ever."""
    left = list(answers)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


class ScriptedClusters:
    """A ClusterReader: answers come from scripts, whatever the name asked for; what was asked is remembered."""

    def __init__(self, *, clusters: Sequence[ClusterState] = (), groups: Sequence[NodegroupState] = ()) -> None:
        self._cluster = script(*(clusters or (ClusterState("us-east-2", "training"),)))
        self._group = script(*(groups or (NodegroupState("us-east-2", "training", "gpu"),)))
        self.asked: list[str] = []

    def cluster(self, region: str, name: str) -> ClusterState:
        self.asked.append(f"cluster {region}/{name}")
        return self._cluster()

    def nodegroup(self, region: str, cluster: str, name: str) -> NodegroupState:
        self.asked.append(f"nodegroup {region}/{cluster}/{name}")
        return self._group()

    def stack(self, region: str, name: str) -> StackState:
        return StackState(name)


class TimedClusters(ScriptedClusters):
    """A ClusterReader whose node group depends on the time: the newest state whose second has come."""

    def __init__(self, clock: FakeClock, groups: Mapping[float, NodegroupState]) -> None:
        super().__init__()
        self._clock = clock
        self._timed = groups

    def nodegroup(self, region: str, cluster: str, name: str) -> NodegroupState:
        return self._timed[max(second for second in self._timed if second <= self._clock.slept_s)]


class FakeReservations:
    """A ReservationReader of an account that has these."""

    def __init__(self, *reservations: Reservation) -> None:
        self._reservations = reservations

    def find(self, region: str, reservation_id: str) -> Reservation | None:
        return next((one for one in self._reservations if one.reservation_id == reservation_id), None)

    def ours(self, regions: Sequence[str]) -> tuple[Reservation, ...]:
        return tuple(one for one in self._reservations if one.region in regions)


class FakeRun:
    """A ToolRun that ends by itself after `lasts_s`, if nobody stops it before."""

    def __init__(self, clock: FakeClock, lasts_s: float = 0.0, exit_code: int = 0, tail: str = "") -> None:
        self._clock = clock
        self._end = clock.slept_s + lasts_s
        self._code = exit_code
        self.tail = tail
        self.stopped = False

    @property
    def running(self) -> bool:
        return not self.stopped and self._clock.slept_s < self._end

    @property
    def exit_code(self) -> int | None:
        return None if self.running else self._code

    def stop(self) -> None:
        self.stopped = True


class FakeEksctl:
    """Answers every verb with the same run."""

    def __init__(self, run: FakeRun) -> None:
        self.run = run
        self.calls: list[str] = []

    def create_cluster(self, config: str) -> FakeRun:
        return self._begin("create cluster")

    def create_nodegroup(self, config: str) -> FakeRun:
        return self._begin("create nodegroup")

    def delete_cluster(self, region: str, cluster: str) -> FakeRun:
        return self._begin(f"delete cluster {cluster}")

    def associate_oidc(self, region: str, cluster: str) -> FakeRun:
        return self._begin("associate oidc")

    def _begin(self, call: str) -> FakeRun:
        self.calls.append(call)
        return self.run


class FakeAws:
    """An AwsWriter that remembers. Leftovers named in `busy` are in use for that many tries."""

    def __init__(self, busy: Mapping[str, int] | None = None) -> None:
        self.calls: list[str] = []
        self.addons: set[str] = set()
        self._busy = dict(busy or {})

    def create_addon(self, region: str, cluster: str, addon: str) -> None:
        self.calls.append(f"create addon {addon}")
        self.addons.add(addon)

    def delete_addon(self, region: str, cluster: str, addon: str) -> None:
        self.calls.append(f"delete addon {addon}")
        self.addons.discard(addon)

    def delete_nodegroup(self, region: str, cluster: str, nodegroup: str) -> None:
        self.calls.append(f"delete nodegroup {nodegroup}")

    def delete_stack(self, region: str, stack: str) -> None:
        self.calls.append(f"delete stack {stack}")

    def tag(self, region: str, resources: Sequence[str], tags: Mapping[str, str]) -> None:
        self.calls.append(f"tag {', '.join(resources)}")

    def remove(self, resource: Resource) -> None:
        self.calls.append(f"remove {resource.resource_id}")
        left = self._busy.get(resource.resource_id, 0)
        if left:
            self._busy[resource.resource_id] = left - 1
            raise BusyError(f"{resource} is still in use", hint=resource.command)


@dataclass
class Leftovers:
    """A LeftoverReader that always finds the same."""

    found: tuple[Resource, ...] = ()

    def search(
        self, region: str, cluster: str, vpc_id: str = "", volumes: Sequence[str] = (), since: datetime | None = None
    ) -> Findings:
        return Findings(self.found)


@dataclass
class FakePlacements:
    """A PlacementStore in memory."""

    kept: Placement | None = None
    saves: int = 0

    def load(self) -> Placement | None:
        return self.kept

    def save(self, placement: Placement) -> None:
        self.kept = placement
        self.saves += 1

    def remove(self) -> None:
        self.kept = None


@dataclass
class FakeJournal:
    """A Journal in memory: what was intended, and what came of it."""

    lines: list[str] = field(default_factory=list)

    @contextmanager
    def effect(self, name: str, facts: Mapping[str, str]) -> Iterator[None]:
        self.lines.append(f"intended {name}: {facts.get('line', '')}")
        yield
        self.lines.append(f"done {name}")

    def unsettled(self) -> tuple[Mapping[str, str], ...]:
        return ()

    def settle(self, intent: Mapping[str, str]) -> None:
        self.lines.append(f"settled {intent['effect']}")

    def clear(self) -> None:
        self.lines.clear()


def executor(**parts: Any) -> Executor:
    """An executor with the given hands; the others are not there, and their use is an AttributeError."""
    nothing: dict[str, Any] = dict.fromkeys(Hands.__dataclass_fields__)
    return Executor(Hands(**{**nothing, "journal": FakeJournal(), **parts}))


def activity(second: float, message: str, status: str = "Failed") -> ScalingActivity:
    return ScalingActivity(START + timedelta(seconds=second), status, message)


def no_capacity(second: float, *, kind: str = "g6.12xlarge", hint: str = "us-east-2b") -> ScalingActivity:
    """A launch that failed in EC2's own words."""
    return activity(
        second,
        "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient "
        f"{kind} capacity in the Availability Zone you requested (us-east-2a). Our system will be working on "
        f"provisioning additional capacity. You can currently get {kind} capacity by not specifying an Availability "
        f"Zone in your request or choosing {hint}. Launching EC2 instance failed.",
    )


def no_quota(second: float) -> ScalingActivity:
    return activity(
        second,
        "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your "
        "current vCPU limit of 8 allows for the instance bucket that the specified instance type belongs to. "
        "Launching EC2 instance failed.",
    )


def group(status: str = "", stack: str = "", **facts: Any) -> NodegroupState:
    """The node group gpu of training: nothing but its states, unless more is told."""
    name = "eksctl-training-nodegroup-gpu"
    plain = NodegroupState("us-east-2", "training", "gpu", status, StackState(name, stack))
    return replace(plain, **facts)
