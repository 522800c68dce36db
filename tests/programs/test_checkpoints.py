"""Checkpoints of several ranks, which are threads here: all of a step or nothing, and the same on every rank."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from checkpoints import Alone, Checkpoints, Loaded, random_state, restore_random_state
from stores import CheckpointError, Folder


class Rank:
    """One of several ranks that are threads."""

    def __init__(self, rank: int, world: int, table: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.world, self.table, self.barrier = rank, world, table, barrier

    def gather(self, value: Any) -> list[Any]:
        self.table[self.rank] = value
        self.barrier.wait(timeout=60)
        answers = list(self.table)
        self.barrier.wait(timeout=60)
        return answers


def on_ranks(world: int, act: Callable[[Rank], Any]) -> list[Any]:
    """What each rank returns, or the exception that it ends with."""
    table, barrier = [None] * world, threading.Barrier(world)

    def one(rank: int) -> Any:
        try:
            return act(Rank(rank, world, table, barrier))
        except CheckpointError as problem:
            return problem

    with ThreadPoolExecutor(world) as pool:
        return list(pool.map(one, range(world)))


def common(value: float) -> dict[str, Any]:
    weights = {f"layer.{n}": torch.full((n + 1,), value) for n in range(7)}
    return {"model": weights, "optimizer": {"state": {0: {"step": value}}, "param_groups": [{"lr": 0.1}]}, "step": 3}


def save(folder: Path, world: int, step: int, value: float = 1.0, keep: int = 2) -> list[Any]:
    return on_ranks(
        world, lambda rank: Checkpoints([Folder(folder)], rank, keep).save(step, common(value), {"n": rank.rank})
    )


def load(folder: Path, world: int) -> list[tuple[Loaded | None, list[str]]]:
    return on_ranks(world, lambda rank: Checkpoints([Folder(folder)], rank).load())


def same(left: Any, right: Any) -> bool:
    if isinstance(left, torch.Tensor):
        return torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[one], right[one]) for one in left)
    return bool(left == right)


def test_every_rank_reads_back_the_whole_and_its_own(tmp_path: Path) -> None:
    save(tmp_path, 3, 5)
    for rank, (loaded, warnings) in enumerate(load(tmp_path, 3)):
        assert warnings == []
        assert loaded is not None
        assert (loaded.step, loaded.own) == (5, {"n": rank})
        assert same(loaded.common, common(1.0))


def test_every_rank_writes_a_part(tmp_path: Path) -> None:
    save(tmp_path, 3, 5)
    shards = sorted((tmp_path / "step-00000005").glob("shard-*.pt"))
    dealt = [set(torch.load(one, weights_only=True)["common"]) for one in shards]
    assert len(shards) == 3
    assert all(dealt)
    assert sum(map(len, dealt)) == len(set.union(*dealt))


def test_a_world_of_another_size_gets_the_whole_and_nothing_of_its_own(tmp_path: Path) -> None:
    save(tmp_path, 3, 5)
    for loaded, _ in load(tmp_path, 2):
        assert loaded is not None
        assert same(loaded.common, common(1.0))
        assert loaded.own is None


def test_the_previous_one_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    class Full(Folder):
        """A disk that is full for the second rank."""

        def write(self, step: int, file: str, content: bytes) -> None:
            if "shard-00001" in file and step > 2:
                raise OSError("no space left on device")
            super().write(step, file, content)

    def act(rank: Rank) -> None:
        kept = Checkpoints([Full(tmp_path)], rank, keep=1)
        kept.save(2, common(1.0), {})
        kept.save(4, common(2.0), {})

    problems = on_ranks(3, act)
    assert [str(one) for one in problems] == ["rank 1: OSError: no space left on device"] * 3
    [(loaded, _)] = on_ranks(1, lambda rank: Checkpoints([Folder(tmp_path)], rank).load())
    assert loaded.step == 2
    assert Folder(tmp_path).steps() == [2]


def test_old_ones_go_once_there_are_enough(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4):
        save(tmp_path, 2, step, keep=2)
    assert Folder(tmp_path).steps() == [4, 3]


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"x"), lambda path: path.unlink()])
def test_a_damaged_one_is_passed_over_with_a_word(tmp_path: Path, damage: Callable[[Path], Any]) -> None:
    save(tmp_path, 2, 2, 1.0)
    save(tmp_path, 2, 4, 2.0)
    damage(tmp_path / "step-00000004" / "shard-00001-of-00002.pt")
    for loaded, warnings in load(tmp_path, 2):
        assert loaded is not None
        assert loaded.step == 2
        assert len(warnings) == 1
        assert "step 4" in warnings[0]


def test_a_folder_that_ranks_do_not_share_is_said_so(tmp_path: Path) -> None:
    def act(rank: Rank) -> None:
        Checkpoints([Folder(tmp_path / f"node{rank.rank}")], rank).save(2, common(1.0), {})

    problems = on_ranks(2, act)
    assert all("must share the folder" in str(one) for one in problems)
    assert Folder(tmp_path / "node0").steps() == []


def test_the_second_store_serves_when_the_first_is_lost(tmp_path: Path) -> None:
    stores = [Folder(tmp_path / "near"), Folder(tmp_path / "far")]
    kept = Checkpoints(stores, Alone())
    kept.save(2, common(1.0), {})
    stores[0].delete(2)
    loaded, _ = kept.load()
    assert loaded is not None
    assert loaded.store == str(tmp_path / "far")


def test_random_numbers_go_on_where_they_were() -> None:
    state = random_state()
    expected = (torch.rand(3), random.random())
    torch.rand(100), random.random()
    restore_random_state(state)
    assert torch.equal(torch.rand(3), expected[0])
    assert random.random() == expected[1]
