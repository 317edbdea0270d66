"""Floating-point operations of a region, by one convention (two for a multiply and add).

PyTorch's and numpy's are seen as they run; of JAX, the functions that were wrapped with ``count_jax``.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, NamedTuple

from ..._native import TimedRegion
from ..probe import Probe
from ..resources import Resources
from . import jax_ops
from .counts import Count, Parameters, RunningCount, close_here, open_here
from .numpy_ops import UNSEEN_NOTE, NumpyCounter
from .torch_ops import TorchCounter

NONE_COUNTED = "no operation ran that can be counted (PyTorch's products, convolutions and attention; numpy's products)"
ONLY_UNCOUNTED = "only operations without a formula ran; metrics.compute.uncounted names them"
_JAX_UNSEEN = f"JAX is loaded too, and its compiled functions are not seen: {jax_ops.WRAP_HINT}"


class _OpenCount(NamedTuple):
    torch: bool
    numpy: bool
    before: Count
    parameters: Parameters
    thread: int


class FlopProbe(Probe):
    """Counts while a region is open, in the thread that opened it."""

    what = "floating-point operations"

    def __init__(self) -> None:
        self._count = RunningCount()
        self._torch = TorchCounter(self._count)
        self._numpy = NumpyCounter(self._count)

    def enter(self, region: TimedRegion) -> Any:
        torch = self._torch.open()
        open_here(self._count)
        parameters = Parameters()
        self._count.collecting.append(parameters)
        return _OpenCount(torch, self._numpy.open(), self._count.now(), parameters, threading.get_ident())

    def exit(self, region: TimedRegion, token: Any, resources: Resources) -> None:
        opened: _OpenCount = token
        if opened.thread != threading.get_ident():
            resources.reasons["flops"] = "the region ended in another thread than it began in"
            return
        close_here(self._count)
        if opened.numpy:
            self._numpy.close()
        self._count.collecting = [other for other in self._count.collecting if other is not opened.parameters]
        if opened.torch:
            self._torch.close()
        found = self._count.now().since(opened.before)
        resources.uncounted = dict(found.uncounted)
        with_jax = "jax" in sys.modules
        if with_jax:
            resources.uncounted[jax_ops.UNSEEN_NOTE] = 0
        if found.operations:
            resources.flops = found.flops
        else:
            reason = ONLY_UNCOUNTED if found.uncounted else NONE_COUNTED
            resources.reasons["flops"] = f"{reason}. {_JAX_UNSEEN}" if with_jax else reason
        if opened.numpy:
            resources.uncounted[UNSEEN_NOTE] = 0
        if opened.parameters.seen:
            resources.parameters = opened.parameters.total()

    def after_fork_in_child(self) -> None:
        """A new lock."""
        self._numpy.after_fork_in_child()
