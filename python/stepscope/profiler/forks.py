"""In a forked child nothing of ours records or writes: the files and the threads are the parent's."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from .. import _native
from . import sampler, torch_engine


class Running(Protocol):
    """What is switched off in a child."""

    def turn_off_in_child(self) -> None:
        """Forget everything that runs; do nothing from now on."""


_running: weakref.WeakSet[Running] = weakref.WeakSet()


def watch(profiler: Running) -> None:
    """This one is running."""
    _running.add(profiler)


def unwatch(profiler: Running) -> None:
    """It has ended."""
    _running.discard(profiler)


def _in_child() -> None:
    for profiler in list(_running):
        profiler.turn_off_in_child()
    _running.clear()
    sampler._own_threads.clear()
    torch_engine._in_use_by.clear()
    _native.set_torch_regions(None)
    _native.forget_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
