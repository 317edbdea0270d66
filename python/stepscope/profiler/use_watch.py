"""Noticing that the program begins to use JAX or TensorFlow. Neither tells, so a thread looks out for it."""

from __future__ import annotations

import threading
from typing import Callable

from .frameworks import in_use
from .sampler import hide_this_thread

_EVERY_S = 0.005
#: After so many looks, the program takes its time, and so do we.
_MANY = 400
_RARELY_S = 0.05


class UseWatch:
    """Calls ``ready()`` once, in a thread of its own, when ``name`` is in use."""

    def __init__(self, name: str, ready: Callable[[], None]) -> None:
        self._name = name
        self._ready = ready
        self._over = threading.Event()

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._wait, name="stepscope-first-use", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _wait(self) -> None:
        hide_this_thread()
        looks = 0
        while not in_use(self._name):
            looks += 1
            if self._over.wait(_EVERY_S if looks < _MANY else _RARELY_S):
                return
        if not self._over.is_set():
            self._ready()
