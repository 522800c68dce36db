"""Random capacity, quotas, settings and disturbances: what holds for every deployment, however it ends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from clusterctl.model.settings import Settings
from simrun import SimMachine, exit_code, verified
from simworld import KIND, REGIONS, SimWorld, zones_of

ZONES = [zone.name for region in REGIONS for zone in zones_of(region)]
UNDISTURBED = "never"


@dataclass(frozen=True)
class Case:
    """A world, what is asked of it, and when the first run ends before its time."""

    stock: dict[str, int]
    quota: float
    nodes: int
    regions: tuple[str, ...]
    probe: bool
    hold: bool
    ends: str  # never | killed | interrupted
    second: int

    def roomy(self, region: str) -> bool:
        return any(self.stock.get(zone.name, self.nodes) >= self.nodes for zone in zones_of(region))


cases = st.builds(
    Case,
    stock=st.dictionaries(st.sampled_from(ZONES), st.sampled_from([0, 0, 1, 2, 8]), max_size=6),
    quota=st.sampled_from([1000.0, 1000.0, 1000.0, 50.0]),
    nodes=st.integers(1, 3),
    regions=st.sampled_from([("us-east-2",), ("us-west-2",), ("us-east-2", "us-west-2"), ("us-west-2", "us-east-2")]),
    probe=st.booleans(),
    hold=st.booleans(),
    ends=st.sampled_from([UNDISTURBED, "killed", "interrupted"]),
    second=st.integers(1, 2000),
)


def machine_for(case: Case, folder: str) -> SimMachine:
    wanted = Settings(region=case.regions[0], regions=case.regions, gpu_node_count=case.nodes)
    return SimMachine(SimWorld(case.stock, case.quota), Path(folder), wanted)


def disturb(case: Case, machine: SimMachine) -> None:
    """The first run, which does not live to its end."""
    world = machine.world
    if case.ends == "killed":
        world.dies_at = float(case.second)
    else:
        world.stops_at = float(case.second)
    result = machine.deploy(probe=case.probe, hold=case.hold)
    if case.ends == "interrupted":
        assert result is not None
        assert exit_code(result) in (0, 3, 4, 130)
        assert world.held() == []
    world.reborn(children_too=case.second % 2 == 0)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(cases)
def test_every_deployment_ends_with_a_verified_cluster_or_the_true_reason_and_leaks_nothing(case: Case) -> None:
    with TemporaryDirectory() as folder:
        machine = machine_for(case, folder)
        if case.ends != UNDISTURBED:
            disturb(case, machine)
        result = machine.deploy(probe=case.probe, hold=case.hold)
        assert result is not None
        code, seen = exit_code(result), machine.world.snapshot()
        event(f"{case.ends}: exit code {code}")
        assert machine.world.held() == []
        assert machine.world.most_groups <= 1
        assert len(seen["clusters"]) <= 1
        placed = machine.placement.load()  # raises if it is not valid
        gpu = [one for (_, name), one in seen["groups"].items() if name == "gpu"]
        if code == 0:
            assert verified(result)
            assert placed is not None
            assert gpu == [("CREATE_COMPLETE", "ACTIVE", placed.gpu_az, KIND.name, case.nodes)]
            assert not machine.journal.exists()
        else:
            assert (gpu, verified(result)) == ([], False)
            assert code == expected_code(case, result_region=placed.region if placed else "")
            assert_removed(machine)


def expected_code(case: Case, result_region: str) -> int:
    """4 where the quota is too small, 3 where no place that was asked for has room."""
    if case.nodes * KIND.vcpus > case.quota:
        return 4
    asked = (result_region,) if case.ends != UNDISTURBED and result_region else case.regions
    assert not any(case.roomy(region) for region in asked), f"there is room in one of {asked}"
    return 3


def assert_removed(machine: SimMachine) -> None:
    torn_down = machine.teardown()
    assert torn_down is not None
    assert exit_code(torn_down) == 0, torn_down.error
    assert not any(machine.world.snapshot().values())
    assert not machine.journal.exists()
