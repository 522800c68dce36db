"""Waves: nothing comes before what it stands on, and what is independent comes at once."""

from __future__ import annotations

from clusterctl.model.instances import InstanceType
from clusterctl.model.operators import SlurmNodes, kuberay, slinky, volcano
from clusterctl.model.settings import Settings
from clusterctl.model.waves import sync_waves

SETTINGS = Settings()
SLURM = slinky(SETTINGS, SlurmNodes(InstanceType("g6.12xlarge", vcpus=48, memory_mib=196608, gpus=4), 2))


def test_every_component_comes_after_all_that_it_needs() -> None:
    waves = sync_waves({"slinky": SLURM}, {})
    assert set(waves) == {one.name for one in SLURM}
    assert any(one.needs for one in SLURM)
    for one in SLURM:
        assert all(waves[need] < waves[one.name] for need in one.needs), one.name


def test_those_who_schedule_by_volcano_come_after_it_and_all_others_at_once() -> None:
    chains = {"volcano": [volcano(SETTINGS)], "kuberay": [kuberay(SETTINGS)], "slinky": SLURM}
    waves = sync_waves(chains, {"kuberay": ["cluster", "volcano"], "slinky": ["cluster"]})
    assert (waves["volcano"], waves["kuberay"], waves["cert-manager"]) == (0, 1, 0)


def test_a_stage_without_components_holds_nobody_up() -> None:
    waves = sync_waves({"cluster": [], "kuberay": [kuberay(SETTINGS)]}, {"kuberay": ["cluster"]})
    assert waves == {"kuberay": 0}
