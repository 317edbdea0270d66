"""Samples the Python stacks of child processes a number of times per second, from outside of them.

A native thread finds the children of this process and theirs, and reads their memory as ``stepscope record`` does.
Nothing of ours runs in them: they may end as they like, and what was seen of them is kept here.
"""

from __future__ import annotations

from .._native import ChildProcessSampler, Recording
from ..errors import StepscopeError
from .sampler import FrameNames

#: A sample from outside costs more than one from inside, and there may be many children.
_MAX_HZ = 100.0


class ChildSampler:
    """Puts samples of children into a recording between :meth:`start` and :meth:`stop`."""

    def __init__(self, recording: Recording, hz: float) -> None:
        self._sampler: ChildProcessSampler | None = FrameNames().child_sampler(recording, min(hz, _MAX_HZ))

    def start(self) -> None:
        """Start sampling; on a system that has no way to, nothing is seen."""
        try:
            if self._sampler is not None:
                self._sampler.start()
        except StepscopeError:
            self._sampler = None

    def stop(self) -> None:
        """Ends; nothing is seen afterwards."""
        if self._sampler is not None:
            self._sampler.stop()

    def forget_after_fork(self) -> None:
        """In a forked child: the thread is the parent's."""
        if self._sampler is not None:
            self._sampler.forget_after_fork()
