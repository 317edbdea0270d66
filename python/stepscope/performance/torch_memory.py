"""GPU memory by PyTorch's own account: what its tensors hold, and what its allocator keeps."""

from __future__ import annotations

import sys
from typing import Any

from .probe import Probe
from .resources import GpuUse, Resources
from .torch_peaks import PeakWindow, book_of


def torch_with_cuda() -> Any | None:
    """PyTorch, if the program has imported it and has begun to use a GPU. It is never imported from here."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    try:
        return torch if cuda is not None and cuda.is_initialized() else None
    except Exception:  # half imported
        return None


class TorchMemoryProbe(Probe):
    """Peaks of PyTorch's allocator in a region."""

    what = "PyTorch's GPU memory"

    def enter(self, region: Any) -> PeakWindow | None:
        torch = torch_with_cuda()
        return None if torch is None else book_of(torch).open(region.began_ns - region.state.resumed_ns)

    def exit(self, region: Any, token: PeakWindow | None, resources: Resources) -> None:
        torch = torch_with_cuda()
        if torch is None:
            return
        book = book_of(torch)
        if token is None:
            # The GPU was first used inside the region, so all there ever was is the region's.
            window, current = book.whole()
        else:
            window, current = token, book.close(token, region.end_ns - region.state.resumed_ns)
        resources.torch_start, resources.torch_end = sum(window.starts.values()), sum(current.values())
        for device, (allocated, reserved) in window.peaks.items():
            if reserved:
                resources.gpus[device] = GpuUse(
                    allocated, reserved, window.starts.get(device, 0), current.get(device, 0), "PyTorch's allocator"
                )
