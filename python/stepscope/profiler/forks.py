"""In a forked child nothing of ours records or writes: the files and the threads are the parent's."""

from __future__ import annotations

import ctypes
import os

from .._forks import unwatch as unwatch
from .._forks import watch as watch
from .._native import forget_after_fork
from . import region_stacks, sampler, torch_engine


def _in_child() -> None:
    # Whatever was running is switched off by now: that was registered first.
    sampler._own_threads.clear()
    torch_engine._in_use_by.clear()
    if torch_engine.was_used():
        _end_without_destructors()
    region_stacks.forget_after_fork()
    forget_after_fork()


def _end_without_destructors() -> None:
    """PyTorch's tracing library waits at the end of a process for a thread of its own, which a forked child does not
    have: the child would hang or abort. Its C streams are flushed and it ends with its exit code instead, after
    Python's own clean-up."""
    try:
        libc = ctypes.CDLL(None)
        # Called in reverse, by the C library alone: Python has ended by then.
        libc.on_exit(libc._exit, None)
        libc.on_exit(libc.fcloseall, None)
    except (AttributeError, OSError):
        pass  # not glibc: nothing can be done


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
