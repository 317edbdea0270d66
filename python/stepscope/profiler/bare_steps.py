"""The steps before the first recording, timed while no profiler is attached: what a step takes without one.

The host's clock is read at each step. A device may be behind the host for many steps: JAX returns from a call long
before its result is there. So at a few steps (after 1, 2, 4, ... and at the end) the device is asked too. With
PyTorch an event of its own is recorded, and read when the recording is over. JAX and TensorFlow have none, and are
waited for. What lies between two such moments has all the work of its steps in it, whatever the host ran ahead, so
its mean is the step."""

from __future__ import annotations

import contextlib
import json
from statistics import median
from typing import Any, Callable

from .._native import now_ns

KEY = "stepscope_bare_steps"
#: Times of so many steps are kept; the latest count.
_MAX_KEPT = 1000
#: An average needs so many.
_MIN_STEPS = 3


class BareSteps:
    """Starts with the step that begins now."""

    def __init__(self, torch: Any, wait: Callable[[], bool] = lambda: False) -> None:
        """``wait`` waits for devices that cannot record an event, and says whether there are any."""
        self._torch = torch
        self._wait = wait
        self.times_ns: list[int] = []
        self._ended = 0
        self._marks: list[tuple[int, Any]] = []
        self._last: Any = None
        self._over = False
        self._began_ns = now_ns()

    def step_ended(self, was_bare: bool = True, goes_on: bool = True) -> None:
        """A step has ended, and the next begins; with the first that is recorded, this is over."""
        if self._over:
            return
        if was_bare:
            self._add()
        if not goes_on:
            self._over = True
            self._last = self._mark() if self._marks else None

    def _add(self) -> None:
        ended_ns = now_ns()
        self.times_ns.append(ended_ns - self._began_ns)
        self._ended += 1
        if len(self.times_ns) >= 2 * _MAX_KEPT:
            del self.times_ns[:_MAX_KEPT]
        if self._ended & (self._ended - 1) == 0:
            mark = self._mark()
            if mark is not None:
                self._marks.append((self._ended, mark))
            ended_ns = now_ns()  # The wait for a device is not part of the next step.
        self._began_ns = ended_ns

    def paced_ns(self) -> list[int]:
        """The times, or for each of them that of the device where it is known by now and takes longer than the host."""
        usual_ns = median(self.times_ns) if self.times_ns else 0
        device = self._device_ns() if isinstance(self._last, int) else None
        return [device[0]] * len(self.times_ns) if device is not None and device[0] > usual_ns else self.times_ns

    def metadata(self) -> dict[str, str]:
        """For the trace that was recorded after these steps, as JSON texts."""
        if len(self.times_ns) < _MIN_STEPS:
            return {}
        known: dict[str, Any] = {"host_ns": self.times_ns[-_MAX_KEPT:]}
        with contextlib.suppress(Exception):  # a device that failed meanwhile has no times
            device = self._device_ns()
            if device is not None:
                known["device_ns"], known["device_steps"] = device
        return {KEY: json.dumps(known)}

    def _device_ns(self) -> tuple[int, int] | None:
        """What a step takes on the device, and the mean of how many that is."""
        # The latest half or so: what comes first is warming up.
        for began, first in reversed(self._marks):
            steps = self._ended - began
            if steps >= max(_MIN_STEPS, self._ended // 3) and type(first) is type(self._last):
                return round(_between_ns(first, self._last) / steps), steps
        return None

    def _mark(self) -> Any:
        if self._wait():
            return now_ns()
        with contextlib.suppress(Exception):
            cuda = getattr(self._torch, "cuda", None)
            if cuda is not None and cuda.is_initialized():
                event = cuda.Event(enable_timing=True)
                event.record()
                return event
        return None


def _between_ns(first: Any, last: Any) -> float:
    if isinstance(first, int):
        return float(last - first)
    last.synchronize()
    return float(first.elapsed_time(last) * 1e6)
