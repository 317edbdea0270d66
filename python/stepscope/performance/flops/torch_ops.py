"""Counts PyTorch's operations with PyTorch's own formulas, and the parameters of the modules that are called.

It is ``torch.utils.flop_counter.FlopCounterMode``: two operations for a multiply and add, nothing for element-wise work,
attention counted whole even if it is causal. While it counts, compiled models run uncompiled.
"""

from __future__ import annotations

import importlib
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

from .counts import RunningCount

# They move or make numbers and work none out, so that they are not missing from a count.
_NO_ARITHMETIC = frozenset(
    "view _unsafe_view reshape t transpose permute expand expand_as squeeze unsqueeze slice select split split_with_sizes"
    " chunk unbind as_strided alias detach lift_fresh clone contiguous copy_ _to_copy to empty empty_like empty_strided"
    " new_empty new_empty_strided zeros zeros_like ones ones_like full full_like fill_ zero_ arange rand randn randint"
    " rand_like randn_like randperm cat stack index index_select gather embedding flatten unflatten narrow detach_ set_"
    " resize_ is_same_size _local_scalar_dense item device layout new_zeros new_ones scalar_tensor uniform_ normal_ random_"
    " bernoulli_ _reshape_alias view_as movedim unfold diagonal numpy_T mT sym_size sym_numel sym_stride"
    " max_pool2d_with_indices_backward embedding_dense_backward slice_backward select_backward".split()
)


class _NoTracker:
    """In place of PyTorch's tracking of modules, which hooks into every one of them; only the whole is wanted here."""

    parents = ("Global",)

    def __enter__(self) -> _NoTracker:
        return self

    def __exit__(self, *_args: object) -> None:
        pass


def _mode_class(torch: Any) -> Any:
    flop_counter = importlib.import_module("torch.utils.flop_counter")

    class Counting(flop_counter.FlopCounterMode):  # type: ignore[misc, name-defined]
        """PyTorch's counter, adding to a count of ours."""

        def __init__(self, count: RunningCount) -> None:
            super().__init__(display=False)
            self.mod_tracker = _NoTracker()
            self._count = count

        def _count_flops(self, func_packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
            formula = self.flop_registry.get(func_packet)
            if formula is not None:
                try:
                    self._count.add(int(formula(*args, **kwargs, out_val=out)))
                    return out
                except Exception:  # a formula that does not fit must not become the program's error
                    pass
            name = getattr(func_packet, "__name__", str(func_packet))
            if name not in _NO_ARITHMETIC:
                self._count.add_uncounted(f"torch.{name}")
            return out

    return Counting


class TorchCounter:
    """Counts in the threads that have a region open."""

    def __init__(self, count: RunningCount) -> None:
        self._count = count
        self._class: Optional[Any] = None
        self._here = threading.local()

    def open(self) -> bool:
        """Starts counting in this thread, if the program has imported PyTorch."""
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "nn"):
            return False
        depth = getattr(self._here, "depth", 0)
        if depth == 0:
            if self._class is None:
                self._class = _mode_class(torch)
            mode = self._class(self._count)
            mode.__enter__()
            self._here.mode = mode
        self._here.depth = depth + 1
        return True

    def close(self) -> None:
        """Stops in this thread, if this was the last."""
        self._here.depth -= 1
        if self._here.depth == 0:
            self._here.mode.__exit__(None, None, None)
            self._here.mode = None


class Parameters:
    """The parameters of the modules that were called: each once, however often it was used."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.seen: Dict[int, Tuple[Any, int]] = {}

    def add(self, module: Any) -> None:
        """A module was called. What it holds in other modules counts when those are called."""
        for parameter in module._parameters.values():
            if parameter is None:
                continue
            known = self.seen.get(id(parameter))
            # A number may be used again once its parameter is gone.
            if known is None or known[0]() is not parameter:
                self.seen[id(parameter)] = (weakref.ref(parameter), int(parameter.numel()))

    def total(self) -> int:
        """How many numbers they hold."""
        return sum(size for _, size in self.seen.values())


class ModuleCalls:
    """Tells the open regions of a thread which modules are called."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._lock = threading.Lock()
        self._users = 0
        self._handle: Optional[Any] = None

    def open(self) -> Parameters:
        """Starts to listen; PyTorch has been imported."""
        collected = Parameters()
        self._collectors().append(collected)
        with self._lock:
            self._users += 1
            if self._users == 1:
                register: Callable[..., Any] = importlib.import_module(
                    "torch.nn.modules.module"
                ).register_module_forward_pre_hook
                self._handle = register(self._called)
        return collected

    def close(self, collected: Parameters) -> None:
        """Stops, if this was the last."""
        collectors = self._collectors()
        collectors[:] = [other for other in collectors if other is not collected]
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._handle is not None:
                self._handle.remove()
                self._handle = None

    def after_fork_in_child(self) -> None:
        """A lock that nobody holds."""
        self._lock = threading.Lock()

    def _collectors(self) -> List[Parameters]:
        found: Optional[List[Parameters]] = getattr(self._here, "collectors", None)
        if found is None:
            found = self._here.collectors = []
        return found

    def _called(self, module: Any, _args: Any) -> None:
        for collected in self._collectors():
            collected.add(module)
