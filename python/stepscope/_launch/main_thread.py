"""Calling a function in the main thread from another one, between two of its instructions, as signals are handled."""

from __future__ import annotations

import threading
from typing import Any, Callable

from ..profiler.sampler import hide_this_thread

_kept: list[Any] = []  # ctypes callbacks must outlive the call


class MainThreadTimer:
    """Calls ``due()`` in the main thread, some seconds from its start."""

    def __init__(self, seconds: float, due: Callable[[], None]) -> None:
        self._seconds = seconds
        self._due = due
        self._cancelled = threading.Event()

    def start(self) -> None:
        """Begin to wait."""
        threading.Thread(target=self._wait, name="stepscope-limit", daemon=True).start()

    def stop(self) -> None:
        """Forget it."""
        self._cancelled.set()

    def _wait(self) -> None:
        hide_this_thread()
        if not self._cancelled.wait(self._seconds):
            call_in_main_thread(self._due)


def call_in_main_thread(due: Callable[[], None]) -> None:
    """Has ``due()`` called in the main thread soon."""
    try:
        import ctypes

        add_pending_call = ctypes.pythonapi.Py_AddPendingCall
    except (ImportError, AttributeError):
        return  # No ctypes here: the limit is not kept.

    def call(_nothing: Any) -> int:
        due()
        return 0

    # The interpreter's lock is held when it is called, so it must not be taken again.
    callback = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(call)
    _kept.append(callback)
    add_pending_call(callback, None)
