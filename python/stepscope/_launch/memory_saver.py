"""Writes what is known about memory while a program runs, so that a crash leaves it."""

from __future__ import annotations

import contextlib
import threading
import time

from .._exact.memory import track
from ..errors import StepscopeError

#: The file is written this often at the most, …
SAVE_EVERY_S = 10.0
#: … and so rarely that it takes this share of the time at the most.
SAVE_SHARE = 0.01


class MemorySaver:
    """A thread that writes a file now and then until it is stopped."""

    def __init__(self, memory: track, path: str) -> None:
        self._memory = memory
        self._path = path
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stepscope memory", daemon=True)

    def start(self) -> None:
        """Begin; before memory is tracked, because what a thread takes is not the program's."""
        self._thread.start()

    def stop(self) -> None:
        """Write no more; what is being written is written first."""
        self._over.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        wait_s = SAVE_EVERY_S
        while not self._over.wait(wait_s):
            began_s = time.perf_counter()
            with contextlib.suppress(StepscopeError):
                self._memory.save(self._path)
            wait_s = max(SAVE_EVERY_S, (time.perf_counter() - began_s) / SAVE_SHARE)
