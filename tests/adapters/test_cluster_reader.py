"""Reading what is being deleted at the same moment."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError

from clusterctl.adapters.aws.clusters import LOOKS, seen_whole


def failing(code: str, times: int) -> Callable[[], str]:
    left = [times]

    def look() -> str:
        if left[0]:
            left[0] -= 1
            raise ClientError({"Error": {"Code": code, "Message": "gone"}}, "ListAddons")
        return "absent"

    return look


@pytest.mark.parametrize("code", ["ResourceNotFoundException", "InvalidSubnetID.NotFound"])
def test_a_thing_that_vanishes_between_two_calls_is_looked_at_again(code: str) -> None:
    assert seen_whole(failing(code, 1)) == "absent"


def test_a_thing_that_keeps_vanishing_is_an_error() -> None:
    with pytest.raises(ClientError):
        seen_whole(failing("ResourceNotFoundException", LOOKS))


def test_a_refusal_is_not_taken_for_absence() -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        seen_whole(failing("AccessDenied", 1))
