"""Finding the steps of a training loop that says nothing about them.

A heuristic: a step ends when the first optimizer that was used has stepped. Further optimizers (of a
discriminator, say) are not counted while that one lives.
"""

from __future__ import annotations

import os
import sys
import weakref
from typing import Any, Callable


class OptimizerSteps:
    """Calls ``step_ended()`` after each step of the first optimizer."""

    def __init__(self, step_ended: Callable[[], None]) -> None:
        self._step_ended = step_ended
        self._process = os.getpid()
        self._first: weakref.ref[Any] | None = None
        self._handle: Any = None

    def watch(self) -> bool:
        """Begin; False if this PyTorch (before 2.0) cannot tell of steps."""
        # Part of PyTorch's own import, but not an attribute of torch.optim in every version.
        optimizers = sys.modules.get("torch.optim.optimizer")
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if register is None:
            return False
        self._handle = register(self._stepped)
        return True

    def stop(self) -> None:
        """End."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.remove()

    def _stepped(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if os.getpid() != self._process or self._handle is None:
            return
        first = self._first() if self._first is not None else None
        if first is None:
            self._first = weakref.ref(optimizer)
            first = optimizer
        if first is optimizer:
            self._step_ended()
