"""What Ctrl-C does to a thing that is just being made: it is taken away again, and that is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clusterctl.errors import InterruptedRunError

Tell = Callable[[str], None]


class UndoneError(InterruptedRunError):
    """The run was interrupted, and what it was making is gone again."""


@contextmanager
def undone_if_interrupted(what: str, undo: Callable[[], None], tell: Tell) -> Iterator[None]:
    """Raises UndoneError once `what` is gone again, or what kept it from going."""
    try:
        yield
    except InterruptedRunError as stop:
        tell(f"interrupted: removing {what}, which was being made")
        undo()
        raise UndoneError(f"interrupted; {what} was being made and is removed again", hint=stop.hint) from stop
