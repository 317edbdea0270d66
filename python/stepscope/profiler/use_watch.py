"""Noticing that the program begins to use JAX or TensorFlow. Neither tells, so a thread checks."""

from __future__ import annotations

import threading
from typing import Callable

from .frameworks import in_use
from .sampler import hide_this_thread

_PERIOD_S = 0.005
#: After so many checks, the program takes its time, and so do we.
_QUICK_CHECKS = 400
_SLOW_PERIOD_S = 0.05


class UseWatch:
    """Calls ``ready()`` once, in a thread of its own, when ``name`` is in use."""

    def __init__(self, name: str, ready: Callable[[], None]) -> None:
        self._name = name
        self._ready = ready
        self._over = threading.Event()

    def start(self) -> None:
        """Begin to check."""
        threading.Thread(target=self._wait, name="stepscope-first-use", daemon=True).start()

    def stop(self) -> None:
        """Stop checking."""
        self._over.set()

    def _wait(self) -> None:
        hide_this_thread()
        checks = 0
        while not in_use(self._name):
            checks += 1
            if self._over.wait(_PERIOD_S if checks < _QUICK_CHECKS else _SLOW_PERIOD_S):
                return
        if not self._over.is_set():
            self._ready()
