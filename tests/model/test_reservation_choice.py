"""A reservation that the user names either fits or says what does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clusterctl.errors import CapacityUnavailableError, UsageError
from clusterctl.model.capacity import Question, Reservation
from clusterctl.model.reservations import check_reservation

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
GROUP = "arn:aws:ec2:us-east-2:111122223333:placement-group/pg-a"
HELD = Reservation(
    "cr-1", "us-east-2", "us-east-2b", "use2-az2", "p5.48xlarge", 4, 4, "active", placement_group_arn=GROUP
)
ASKED = Question(("p5.48xlarge",), 2, ("us-east-2",))


def test_one_that_fits_has_nothing_to_say() -> None:
    assert check_reservation(HELD, ASKED, NOW) == ()
    assert check_reservation(replace(HELD, is_block=True, placement_group_arn=""), ASKED, NOW) == ()


def test_one_without_a_placement_group_is_told() -> None:
    (told,) = check_reservation(replace(HELD, placement_group_arn=""), ASKED, NOW)
    assert "placement group" in told


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instance_type": "g6.12xlarge"}, "is for g6.12xlarge, and p5.48xlarge is asked for"),
        ({"platform": "Windows"}, "is for Windows"),
        ({"tenancy": "dedicated"}, "dedicated tenancy"),
    ],
)
def test_the_wrong_kind_is_a_wrong_setting(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_reservation(replace(HELD, **changes), ASKED, NOW)


def test_another_zone_than_asked_names_both() -> None:
    with pytest.raises(UsageError, match=r"is in us-east-2b \(use2-az2\), and us-east-2a is asked for"):
        check_reservation(HELD, replace(ASKED, zones=("us-east-2a",)), NOW)
    assert check_reservation(HELD, replace(ASKED, zones=("use2-az2",)), NOW) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "expired"}, "is expired"),
        ({"state": "scheduled", "start": NOW + timedelta(days=1)}, "begins at 2026-12-01 12:00 UTC"),
        ({"available": 1}, "has 1 of 4 instances free, 2 are needed"),
        ({"end": NOW + timedelta(minutes=30)}, "within the hour"),
    ],
)
def test_no_room_or_no_time_is_a_lack_of_capacity(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CapacityUnavailableError, match=words):
        check_reservation(replace(HELD, **changes), ASKED, NOW)


def test_it_has_to_outlive_the_cluster() -> None:
    ends = replace(HELD, end=NOW + timedelta(hours=3))
    assert len(check_reservation(ends, ASKED, NOW, NOW + timedelta(hours=2))) == 1
    with pytest.raises(CapacityUnavailableError, match="before the cluster expires"):
        check_reservation(ends, ASKED, NOW, NOW + timedelta(hours=4))


def test_the_early_end_of_a_block_is_said() -> None:
    block = replace(HELD, is_block=True, placement_group_arn="", end=datetime(2026, 12, 2, 11, 30, tzinfo=UTC))
    (told,) = check_reservation(block, ASKED, NOW)
    assert told == (
        "capacity block cr-1 ends at 2026-12-02 11:30 UTC: EKS takes its nodes away from 2026-12-02 10:50 UTC,"
        " EC2 ends them from 2026-12-02 11:00 UTC"
    )


def test_the_end_of_a_reservation_is_said() -> None:
    (told,) = check_reservation(replace(HELD, end=NOW + timedelta(days=1)), ASKED, NOW)
    assert told.startswith("reservation cr-1 ends at 2026-12-01 12:00 UTC")
