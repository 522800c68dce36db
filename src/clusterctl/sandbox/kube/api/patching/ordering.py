"""Where items end up when two lists of the same keyed items become one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

K = TypeVar("K")  # hashable


def applied_order(live: Sequence[K], applied: Sequence[K]) -> list[K]:
    """Server-side apply: applied items in the applied order, the others where they stood among them.

    Walk the live list. An item that only it knows is put down at once; one that is the next to come among the
    shared ones brings all applied items up to itself; one whose turn is later is passed over.
    """
    known = set(live)
    waiting = deque(applied)
    shared = deque(key for key in applied if key in known)
    wanted = set(applied)
    placed: list[K] = []
    for key in live:
        if key not in wanted:
            placed.append(key)
        elif shared and shared[0] == key:
            shared.popleft()
            placed.extend(_take_through(waiting, key))
    return [*placed, *waiting]


def patched_order(live: Sequence[K], ordered: Sequence[K], unlisted: Sequence[K]) -> list[K]:
    """Strategic merge patch: `ordered` items in the patch's order, `unlisted` ones where the server had them.

    An unlisted item goes before the first ordered one that stood behind it on the server.
    """
    position = {key: index for index, key in enumerate(live)}
    waiting = deque(unlisted)
    placed: list[K] = []
    for key in ordered:
        while waiting and key in position and position[waiting[0]] < position[key]:
            placed.append(waiting.popleft())
        placed.append(key)
    return [*placed, *waiting]


def _take_through(waiting: deque[K], last: K) -> list[K]:
    taken = [waiting.popleft()]
    while taken[-1] != last:
        taken.append(waiting.popleft())
    return taken
