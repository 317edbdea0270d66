"""Time on the GPU, by events on the current CUDA stream.

Wall time ends when the last kernel has been *launched*. The events end when the GPU gets there; nobody waits for them
until the time is asked for.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Optional, Tuple

from .probe import Probe
from .resources import Resources
from .torch_memory import torch_with_cuda
from .tracked import TrackedRegion

MOST_WAITING = 512
"""Pairs of events that are held until the GPU has reached them."""

Pair = Tuple[Any, Any]


class GpuTimes:
    """A sum of times on the GPU, some of which may not be over yet."""

    __slots__ = ("milliseconds", "waiting", "lost")

    def __init__(self, pair: Optional[Pair] = None) -> None:
        self.milliseconds = 0.0
        self.waiting: Deque[Pair] = deque([pair] if pair else [])
        self.lost = 0

    def emptied(self) -> GpuTimes:
        """A sum to start from."""
        return GpuTimes()

    def add(self, other: GpuTimes) -> None:
        """Adds a later one, and takes in those that are over by now."""
        self.milliseconds += other.milliseconds
        self.lost += other.lost
        self.waiting.extend(other.waiting)
        while self.waiting and self.waiting[0][1].query():
            self._take_in()
        while len(self.waiting) > MOST_WAITING:
            # Waiting here would slow the program down.
            self.waiting.popleft()
            self.lost += 1

    def seconds(self) -> float:
        """The sum; waits for the GPU if it is not there yet."""
        while self.waiting:
            self.waiting[0][1].synchronize()
            self._take_in()
        return self.milliseconds / 1e3

    def _take_in(self) -> None:
        start, end = self.waiting.popleft()
        try:
            self.milliseconds += start.elapsed_time(end)
        except RuntimeError:  # the program went on to another device in between
            self.lost += 1


class GpuTimeProbe(Probe):
    """An event at each edge of a region."""

    what = "time on the GPU"

    def enter(self, region: TrackedRegion) -> Tuple[bool, Optional[Any]]:
        torch = torch_with_cuda()
        return (False, None) if torch is None else (True, _event(torch))

    def exit(self, region: TrackedRegion, token: Tuple[bool, Optional[Any]], resources: Resources) -> None:
        torch = torch_with_cuda()
        if torch is None:
            return
        in_use, start = token
        if not in_use:
            resources.reasons["gpu_time"] = "the GPU was first used inside the region, so no event marks its start"
            return
        end = _event(torch)
        if start is None or end is None:
            resources.reasons["gpu_time"] = "a CUDA graph was being captured"
            return
        resources.gpu_times = GpuTimes((start, end))


def _event(torch: Any) -> Optional[Any]:
    # Inside the capture of a CUDA graph an event would become part of the graph.
    if torch.cuda.is_current_stream_capturing():
        return None
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
