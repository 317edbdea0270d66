"""In a forked child nothing of ours runs: what was running is the parent's."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class RunningProfiler(Protocol):
    """What is switched off in a child."""

    def turn_off_in_child(self) -> None:
        """Stop, and do nothing from now on."""


_running: weakref.WeakSet[RunningProfiler] = weakref.WeakSet()


def watch(one: RunningProfiler) -> None:
    """This one is running."""
    _running.add(one)


def unwatch(one: RunningProfiler) -> None:
    """It has ended."""
    _running.discard(one)


def _in_child() -> None:
    for one in list(_running):
        one.turn_off_in_child()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
