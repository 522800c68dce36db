"""Sampling, accumulation and resuming, on one CPU. Nothing is faked."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from checkpoints import Alone, Checkpoints, random_state
from sampling import Sampler
from stores import Folder
from training import Plan, Stop, Trainer, fingerprint, run

SIZE = 11


def sampler(world: int, rank: int = 0, batch: int = 2, accumulate: int = 2) -> Sampler:
    return Sampler(SIZE, batch, accumulate, rank, world, seed=3)


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_an_epoch_has_every_sample_once_over_all_ranks(world: int) -> None:
    ranks = [sampler(world, rank) for rank in range(world)]
    seen: list[int] = []
    while ranks[0].offset < SIZE:
        shares = [one.next() for one in ranks]
        assert len({one.indices.shape for one in shares}) == 1, "a rank would wait for a gradient that never comes"
        assert sum(float(one.weights.sum()) for one in shares) == shares[0].samples
        seen += [
            int(i) for one in shares for i, w in zip(one.indices.flatten(), one.weights.flatten(), strict=True) if w
        ]
    assert sorted(seen) == list(range(SIZE))


def test_the_next_epoch_has_another_order_and_a_cursor_finds_its_place() -> None:
    one = sampler(1)
    first = [one.next().indices.tolist() for _ in range(3)]
    other = sampler(1)
    other.restore(one.state())
    assert one.next().indices.tolist() == other.next().indices.tolist()
    assert one.epoch == 1
    assert one.next().indices.tolist() not in first
    with pytest.raises(ValueError, match="samples"):
        Sampler(SIZE + 1, 2, 2, 0, 1).restore(one.state())


def trainer(batch: int, accumulate: int, seed: int = 5, dropout: float = 0.0) -> Trainer:
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(dropout), torch.nn.Linear(8, 1))
    return Trainer(model, model, Plan(9, 2, 1, 0.01), sampler(1, batch=batch, accumulate=accumulate))


def data() -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.randn(SIZE, 3, generator=torch.Generator().manual_seed(1))
    return inputs, inputs.sum(dim=1)


def losses(one: Trainer):
    inputs, targets = data()
    return lambda indices: (one.wrapped(inputs[indices]).squeeze(-1) - targets[indices]) ** 2


def test_accumulating_is_the_same_as_one_large_batch_also_at_the_end_of_an_epoch() -> None:
    small, large = trainer(batch=1, accumulate=4), trainer(batch=4, accumulate=1)
    for _ in range(6):  # 11 samples: the third update of an epoch has three
        one, other = small.update(losses(small)), large.update(losses(large))
        assert one == pytest.approx(other, rel=1e-5)
        for left, right in zip(small.model.parameters(), large.model.parameters(), strict=True):
            assert torch.allclose(left, right, atol=1e-6)
    assert small.sampler.epoch == 1


def test_the_schedule_steps_with_updates_and_not_with_microbatches() -> None:
    rates = []
    for accumulate in (1, 4):
        one = trainer(batch=1, accumulate=accumulate)
        rates.append([(one.update(losses(one)), one.scheduler.get_last_lr()[0])[1] for _ in range(9)])
    assert rates[0] == rates[1]
    assert rates[0][-1] == pytest.approx(0.001)


def whole_run(folder: Path, plan: Plan, crash_after: int = 0) -> Trainer:
    """A run of nine updates; `crash_after` loses what came after so many updates, as a kill does."""
    one = trainer(batch=2, accumulate=2, dropout=0.5)
    one.plan = plan
    counted = losses(one)

    def until_crash(indices: torch.Tensor) -> torch.Tensor:
        if crash_after and one.step >= crash_after:
            raise KeyboardInterrupt
        return counted(indices)

    try:
        run(one, until_crash, Checkpoints([Folder(folder)], Alone()))
    except KeyboardInterrupt:
        torch.manual_seed(999)  # another process would have other numbers
    return one


@pytest.mark.parametrize("crash_after", range(1, 9))
def test_a_killed_run_ends_with_the_weights_of_an_undisturbed_one(tmp_path: Path, crash_after: int) -> None:
    plan = Plan(9, save_every=2, warmup=1, learning_rate=0.01)
    expected = fingerprint(whole_run(tmp_path / "whole", plan).model)
    whole_run(tmp_path / "broken", plan, crash_after)
    assert fingerprint(whole_run(tmp_path / "broken", plan).model) == expected


def test_a_stop_file_saves_and_ends_the_run_before_its_end(tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    stop.touch()
    plan = Plan(9, save_every=100, warmup=1, learning_rate=0.01, stop_file=str(stop))
    assert whole_run(tmp_path / "kept", plan).step == 1
    assert Folder(tmp_path / "kept").steps() == [1]
    assert Stop(Alone(), str(tmp_path / "none")).asked() is False


def test_what_makes_the_next_number_is_in_the_checkpoint(tmp_path: Path) -> None:
    kept = Checkpoints([Folder(tmp_path)], Alone())
    one = trainer(batch=2, accumulate=2)
    one.update(losses(one))
    kept.save(1, one.common_state(), {"random": random_state()})
    loaded, _ = kept.load()
    assert loaded is not None
    assert set(loaded.common) == {"model", "optimizer", "scheduler", "sampler", "step"}
    assert set(loaded.own or {}) == {"random"}
