"""Time on the GPU, by events on the current CUDA stream.

Wall time ends when the last kernel has been *launched*. The events end when the GPU gets there; no one waits for them
until the time is asked for.
"""

from __future__ import annotations

from typing import Any

from .._native import TimedRegion
from .probe import Probe
from .resources import GpuTimes, Resources
from .torch_memory import torch_with_cuda


class GpuTimeProbe(Probe):
    """An event at each edge of a region."""

    what = "time on the GPU"

    def enter(self, region: TimedRegion) -> tuple[bool, Any | None]:
        torch = torch_with_cuda()
        return (False, None) if torch is None else (True, _event(torch))

    def exit(self, region: TimedRegion, token: tuple[bool, Any | None], resources: Resources) -> None:
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


def _event(torch: Any) -> Any | None:
    # Inside the capture of a CUDA graph an event would become part of the graph.
    if torch.cuda.is_current_stream_capturing():
        return None
    try:
        # Finds the current stream four times faster than torch.cuda.Event; not in PyTorch before 2.4.
        event = torch.Event(device="cuda", enable_timing=True)
    except (AttributeError, TypeError):
        event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
