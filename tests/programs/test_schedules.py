"""The learning rate warms up, falls, and stays down. Nothing is faked."""

from __future__ import annotations

import pytest

from schedules import lr_factor


def test_it_rises_while_it_warms_up_and_falls_until_the_end() -> None:
    factors = [lr_factor(one, 10, 100) for one in range(101)]
    assert factors[:10] == sorted(factors[:10])
    assert factors[0] > 0
    assert factors[10:] == sorted(factors[10:], reverse=True)
    assert (max(factors), factors[10]) == (1.0, 1.0)


def test_past_its_end_it_never_rises_again() -> None:
    assert {round(lr_factor(one, 10, 100), 9) for one in range(100, 1000)} == {0.1}


@pytest.mark.parametrize("bounds", [(-1, 10, 0.1), (10, 10, 0.1), (0, 10, 1.5)])
def test_bounds_that_make_no_schedule_are_refused(bounds: tuple[int, int, float]) -> None:
    with pytest.raises(ValueError, match="schedule"):
        lr_factor(0, *bounds)
