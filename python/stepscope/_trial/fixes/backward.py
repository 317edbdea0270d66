"""Noticing that the program goes backward."""

from __future__ import annotations

import functools
from typing import Any, Callable


class Backward:
    """Whether gradients are computed now, and what to do before that."""

    def __init__(self) -> None:
        #: While they are, checkpoints call modules again.
        self.running = False
        self._before: list[Callable[[], None]] = []
        self._watched = False

    def watch(self, torch: Any) -> None:
        """Begin, if that has not been done."""
        if not self._watched:
            self._watched = True
            for name in ("backward", "grad"):
                setattr(torch.autograd, name, self._reporting(getattr(torch.autograd, name)))

    def before(self, torch: Any, do: Callable[[], None]) -> None:
        """Call ``do`` whenever gradients are about to be computed."""
        self.watch(torch)
        self._before.append(do)

    def _reporting(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            for do in self._before:
                do()
            was_running, self.running = self.running, True
            try:
                return plain(*args, **kwargs)
            finally:
                self.running = was_running

        return call


#: All fixes of a process share one.
BACKWARD = Backward()
