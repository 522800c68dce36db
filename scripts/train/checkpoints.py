"""Checkpoints of a distributed run: sharded, checksummed, complete before the previous one goes.

What all ranks hold alike (DDP's weights and optimizer) is dealt out among them, so that each writes a part. What is a
rank's own (its random generators, its shards under FSDP) it writes itself.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from stores import CheckpointError, Store, digest

FORMAT = 1


class Group(Protocol):
    """What ranks tell each other."""

    rank: int
    world: int

    def gather(self, value: Any) -> list[Any]: ...


class Alone:
    """A world of one process."""

    rank, world = 0, 1

    def gather(self, value: Any) -> list[Any]:
        return [value]


class ProcessGroup:
    """The ranks of torch.distributed."""

    def __init__(self) -> None:
        self.rank, self.world = torch.distributed.get_rank(), torch.distributed.get_world_size()

    def gather(self, value: Any) -> list[Any]:
        everyone: list[Any] = [None] * self.world
        torch.distributed.all_gather_object(everyone, value)
        return everyone


@dataclass(frozen=True)
class Loaded:
    """A checkpoint as read: `common` is the same on all ranks, `own` this rank's, None in a world of another size."""

    step: int
    store: str
    common: dict[str, Any]
    own: dict[str, Any] | None


class Checkpoints:
    """Saves to every store, loads from the first that has the newest step whole."""

    def __init__(self, stores: Sequence[Store], group: Group, keep: int = 2) -> None:
        if keep < 1:
            raise ValueError("keep the newest checkpoint at least")
        self.stores, self.group, self.keep = tuple(stores), group, keep

    def save(self, step: int, common: dict[str, Any], own: dict[str, Any]) -> None:
        """Returns on all ranks once every store has the step whole; raises CheckpointError on all ranks otherwise."""
        file = f"shard-{self.group.rank:05d}-of-{self.group.world:05d}.pt"
        content = _packed({"common": _dealt(common, self.group), "own": own})
        entry = {file: {"bytes": len(content), "sha256": digest(content)}}
        failure = self._try(lambda: [store.write(step, file, content) for store in self.stores])
        entries = self._all_or_none(failure, entry)
        manifest = {
            "format": FORMAT, "step": step, "world": self.group.world,
            "files": {name: facts for one in entries for name, facts in one.items()},
        }  # fmt: skip
        failure = self._try(lambda: [store.commit(step, manifest) for store in self.stores]) if self._first else ""
        self._all_or_none(failure, None)
        if self._first:
            self._prune()

    @property
    def _first(self) -> bool:
        return self.group.rank == 0

    def _try(self, act: Any) -> str:
        try:
            act()
        except Exception as problem:  # noqa: BLE001 - whatever it is, all ranks must hear of it
            return f"rank {self.group.rank}: {type(problem).__name__}: {problem}"
        return ""

    def _all_or_none(self, failure: str, value: Any) -> list[Any]:
        """What every rank has to say, or the same error on all of them."""
        answers = self.group.gather((failure, value))
        failed = [one for one, _ in answers if one]
        if failed:
            raise CheckpointError("; ".join(failed))
        return [one for _, one in answers]

    def _prune(self) -> None:
        """Old steps go when more than enough newer ones are complete in that very store."""
        for store in self.stores:
            for step in store.steps()[self.keep :]:
                store.delete(step)

    def load(self) -> tuple[Loaded | None, list[str]]:
        """The newest step that is whole, and what was wrong with newer ones. All ranks load the same one."""
        warnings: list[str] = []
        for step, store in self._candidates():
            loaded, problem = self._read(step, store)
            problems = [one for one in self.group.gather(problem) if one]
            if not problems:
                return loaded, warnings
            warnings.append(f"step {step} in {store.name} passed over: {problems[0]}")
        return None, warnings

    def _candidates(self) -> list[tuple[int, Store]]:
        """As the first rank sees them: a slow file system may show others less."""
        found = (
            [(step, place) for place, store in enumerate(self.stores) for step in store.steps()] if self._first else []
        )
        shared = self.group.gather(sorted(found, key=lambda one: (-one[0], one[1])))[0]
        return [(step, self.stores[place]) for step, place in shared]

    def _read(self, step: int, store: Store) -> tuple[Loaded | None, str]:
        try:
            manifest = store.manifest(step)
            shards = [_unpacked(_verified(store, step, file, facts)) for file, facts in manifest["files"].items()]
        except Exception as problem:  # noqa: BLE001 - whatever it is, all ranks must hear of it
            return None, f"rank {self.group.rank}: {type(problem).__name__}: {problem}"
        own = shards[self.group.rank]["own"] if manifest["world"] == self.group.world else None
        return Loaded(step, store.name, _gathered(one["common"] for one in shards), own), ""


def _verified(store: Store, step: int, file: str, facts: dict[str, Any]) -> bytes:
    content = store.read(step, file)
    if len(content) != facts["bytes"] or digest(content) != facts["sha256"]:
        raise CheckpointError(f"{file} is not what was written")
    return content


def _packed(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _unpacked(content: bytes) -> dict[str, Any]:
    value: dict[str, Any] = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    return value


def _dealt(common: dict[str, Any], group: Group) -> dict[str, Any]:
    """This rank's leaves of what all ranks hold; each goes to the rank that has least so far."""
    leaves = sorted(_leaves(common), key=lambda leaf: (-_bytes(leaf[1]), leaf[0]))
    loads = [0] * group.world
    mine = {}
    for path, value in leaves:
        owner = loads.index(min(loads))
        loads[owner] += _bytes(value) + 1
        if owner == group.rank:
            mine[path] = value
    return mine


def _bytes(value: Any) -> int:
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0


def _leaves(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Dictionaries taken apart into one of `a\\x1fb` keys; numbers among the keys are marked."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            name = f"#{key}" if isinstance(key, int) else f"${key}"
            yield from _leaves(inner, f"{path}\x1f{name}" if path else name)
    else:
        yield path, value


def _gathered(shards: Iterable[dict[str, Any]]) -> dict[str, Any]:
    whole: dict[Any, Any] = {}
    for shard in shards:
        for path, value in shard.items():
            *folders, last = [int(one[1:]) if one[0] == "#" else one[1:] for one in path.split("\x1f")]
            place = whole
            for one in folders:
                place = place.setdefault(one, {})
            place[last] = value
    return whole


def random_state() -> dict[str, Any]:
    """All generators that training may draw from on this rank."""
    version, numbers, gauss = random.getstate()
    state = {"torch": torch.get_rng_state(), "python": [version, list(numbers), gauss]}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
