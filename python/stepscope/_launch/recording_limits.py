"""How long, and with how much memory, all operators of a program are recorded."""

from __future__ import annotations

import time
from typing import Callable

from .main_thread import MainThreadTimer
from .operator_memory import OperatorMemory, default_limit

#: Seconds of PyTorch's operators that are kept by default: they fill memory until they are written.
TORCH_SECONDS = 60.0
#: What operators of a program's beginning may take to be written, where a window of iterations comes later.
BEGINNING_BYTES = 1 << 29
#: How long a beginning without iterations may be: they are found without recording it, too.
BEGINNING_SECONDS = 10.0


class RecordingLimits:
    """Calls ``reached`` between any two instructions of the main thread, perhaps in the middle of something of ours.

    It gets the reason why recording ends, or None if that is only a program's beginning (``is_beginning``), after which
    iterations are timed. ``seconds`` and ``memory_gib`` are what someone asked for.
    """

    def __init__(
        self,
        seconds: float | None,
        memory_gib: float | None,
        is_beginning: bool,
        reached: Callable[[str | None], None],
    ) -> None:
        self._seconds = seconds
        self._memory_gib = memory_gib
        self._is_beginning = is_beginning
        self._reached = reached
        self._timer: MainThreadTimer | None = None
        self._memory: OperatorMemory | None = None
        self._joined_at = 0.0

    def start(self) -> None:
        if self._seconds:
            self._limit_time(self._seconds)

    def torch_joined(self) -> None:
        """PyTorch's profiler has begun to record."""
        self._joined_at = time.monotonic()
        self._limit_usual_time(BEGINNING_SECONDS if self._is_beginning else TORCH_SECONDS)
        limit = default_limit() if self._memory_gib is None else int(self._memory_gib * (1 << 30))
        if self._is_beginning and limit:
            limit = min(limit, BEGINNING_BYTES)
        if limit:
            self._memory = OperatorMemory(limit, self._memory_is_full)
            self._memory.start()

    def framework_joined(self) -> None:
        """JAX's or TensorFlow's profiler records, which fills memory as PyTorch's does."""
        self._limit_usual_time(TORCH_SECONDS)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        if self._memory is not None:
            self._memory.stop()

    def _limit_usual_time(self, seconds: float) -> None:
        if self._seconds is None and self._timer is None:
            self._limit_time(seconds)

    def _limit_time(self, seconds: float) -> None:
        self._timer = MainThreadTimer(seconds, lambda: self._time_is_over(seconds))
        self._timer.start()

    def _time_is_over(self, seconds: float) -> None:
        in_beginning = self._is_beginning and self._seconds is None
        self._reached(None if in_beginning else f"{seconds:g} s were over (--seconds)")

    def _memory_is_full(self, results_bytes: int) -> None:
        after_s = time.monotonic() - self._joined_at
        reason = (
            f"{after_s:.1f} s of PyTorch's operators may take {results_bytes / (1 << 30):.1f} GiB of memory to be "
            "written (--max-memory)"
        )
        self._reached(None if self._is_beginning else reason)
