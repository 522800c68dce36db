"""A table for people stays one that people can read, and hides no problem."""

from __future__ import annotations

from typing import Any

import pytest

from clusterctl.cli.status import as_given
from clusterctl.cli.tables import MOST_NODES, node_rows


def verification(good: int, bad: int) -> dict[str, Any]:
    plain = {"ready": True, "instance_type": "p5.48xlarge", "zone": "us-east-2b", "gpus": 8, "efa": 32, "neuron": 0}
    nodes = [{**plain, "name": f"good-{number}.internal", "problems": []} for number in range(good)]
    return {"nodes": [*nodes, *({**plain, "name": f"bad-{n}", "problems": ["7 of 8 GPUs"]} for n in range(bad))]}


def test_every_node_of_a_cluster_is_shown_in_its_order() -> None:
    rows = list(node_rows(verification(2, 1)))
    assert [(row[0], row[-1]) for row in rows] == [("good-0", "none"), ("good-1", "none"), ("bad-0", "7 of 8 GPUs")]


def test_of_very_many_nodes_those_with_problems_are_shown_and_the_rest_is_counted() -> None:
    rows = list(node_rows(verification(5000, 3)))
    assert [row[0] for row in rows[:4]] == ["bad-0", "bad-1", "bad-2", "good-0"]
    assert len(rows) == MOST_NODES + 1
    assert (rows[-1][0], rows[-1][-1]) == (f"and {5003 - MOST_NODES} more", "none")


def test_problems_that_are_not_shown_are_counted() -> None:
    last = list(node_rows(verification(10, MOST_NODES + 5)))[-1]
    assert (last[0], last[-1]) == ("and 15 more", "on 5 of them")


@pytest.mark.parametrize(
    ("value", "text"),
    [((), ""), (("ray", "mpi"), "ray,mpi"), (False, "no"), (True, "yes"), (None, ""), (2, "2"), ("4h", "4h")],
)
def test_a_setting_is_shown_in_the_form_in_which_one_gives_it(value: object, text: str) -> None:
    assert as_given(value) == text
