"""``@stepscope.profile_lines``: functions whose lines are timed for as long as the program runs."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any, Callable, TypeVar

from .lines import lines

Function = TypeVar("Function", bound=Callable[..., Any])

_marked: lines | None = None
_owner = 0


def profile_lines(function: Function) -> Function:
    """Time the lines of this function from now on; a table is printed to stderr when the program ends.

    Under ``stepscope run --lines`` it is part of that run's table instead; so is ``@profile``, without an import.
    """
    return marked().add(function)


def marked() -> lines:
    """What times the functions that are marked."""
    global _marked, _owner
    if _marked is None:
        _marked, _owner = lines(), os.getpid()
        _marked.start()
        atexit.register(_print)
    return _marked


def take_over(timed: lines) -> None:
    """From now on functions that are marked belong to this one, which someone else starts, stops and prints."""
    global _marked
    _marked = timed


def _print() -> None:
    if _marked is not None and os.getpid() == _owner:
        _marked.stop()
        _marked.print_stats(sys.stderr)
