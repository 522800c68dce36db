"""What a killed run had in flight is seen to before anything new begins, and once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from clusterctl.adapters.journal_file import JournalFile, earlier_work, read_entries
from clusterctl.engine.effects import CANCEL, EFFECTS, RESERVE
from clusterctl.engine.settling import Settler
from clusterctl.errors import AccessError
from fakes import FakeClock, Recorder

PLACE = {
    "region": "us-west-2",
    "zone": "us-west-2a",
    "zone_id": "usw2-az1",
    "count": "2",
    "instance_type": "p5.48xlarge",
}


class Reservations:
    """A Prober that remembers what it was asked to end."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.ended: list[str] = []
        self.problem = problem

    def cancel_made(self, intent: Mapping[str, str]) -> tuple[str, ...]:
        if self.problem:
            raise self.problem
        self.ended.append(f"all that {intent['run']} made in {intent['zone']}")
        return ("cr-1",)

    def cancel(self, region: str, reservation_id: str) -> None:
        self.ended.append(f"{region}/{reservation_id}")


def journal(path: Path, run: str = "run-2", cluster: str = "training") -> JournalFile:
    return JournalFile(path, FakeClock(), run, cluster)


def killed(path: Path, effect: str, facts: Mapping[str, str], cluster: str = "training") -> None:
    journal(path, "run-1", cluster).effect(effect, facts).__enter__()


def settle(path: Path, prober: Reservations, ended: list[str] | None = None) -> Recorder:
    def end(runs: Collection[str]) -> int:
        (ended if ended is not None else []).extend(runs)
        return len(runs)

    said = Recorder()
    Settler(prober, journal(path), end).settle(said.tell)  # type: ignore[arg-type]
    return said


def test_a_reservation_that_may_have_been_made_is_looked_for_where_it_was_ordered(tmp_path: Path) -> None:
    path, prober, ended = tmp_path / "j", Reservations(), list[str]()
    killed(path, RESERVE, PLACE)
    said = settle(path, prober, ended)
    assert (prober.ended, ended) == (["all that run-1 made in us-west-2a"], ["run-1"])
    assert "cancelled reservation cr-1 in us-west-2, which it had made" in said.words
    assert journal(path).unsettled() == ()


def test_a_cancellation_that_may_have_failed_is_done_again(tmp_path: Path) -> None:
    path, prober = tmp_path / "j", Reservations()
    killed(path, CANCEL, {"region": "us-west-2", "reservation_id": "cr-7"})
    settle(path, prober)
    settle(path, prober)
    assert prober.ended == ["us-west-2/cr-7"]


@pytest.mark.parametrize("effect", EFFECTS)
def test_no_intent_of_any_effect_stays_open(tmp_path: Path, effect: str) -> None:
    path = tmp_path / "j"
    killed(path, effect, {**PLACE, "line": "what it was about", "reservation_id": "cr-1"})
    said = settle(path, Reservations())
    assert "run-1" in said.words[0]
    assert journal(path).unsettled() == ()
    journal(path).clear()
    assert not path.exists()


def test_what_cannot_be_looked_for_stops_the_run_and_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "j"
    killed(path, RESERVE, PLACE)
    with pytest.raises(AccessError):
        settle(path, Reservations(AccessError("not allowed to look")))
    assert len(journal(path).unsettled()) == 1


def test_intents_of_another_cluster_are_another_run_s(tmp_path: Path) -> None:
    path, prober = tmp_path / "j", Reservations()
    killed(path, RESERVE, PLACE, cluster="another")
    assert settle(path, prober).words == []
    journal(path).clear()
    assert [entry["cluster"] for entry in read_entries(path)] == ["another"]


def test_an_empty_journal_is_nothing_to_speak_of(tmp_path: Path) -> None:
    assert settle(tmp_path / "j", Reservations()).words == []


def test_the_next_run_knows_its_predecessors_and_what_they_began_to_delete(tmp_path: Path) -> None:
    path = tmp_path / "j"
    killed(path, "DeleteNodegroup", {"cluster": "training", "nodegroup": "gpu"})
    killed(path, "CreateCluster", {"cluster": "another"})
    earlier = earlier_work(path, "training")
    assert (earlier.runs, earlier.removals) == ({"run-1"}, {"gpu"})
    assert earlier_work(tmp_path / "none", "training").runs == frozenset()
