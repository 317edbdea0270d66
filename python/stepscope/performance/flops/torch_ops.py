"""Counts PyTorch's operations with PyTorch's own formulas, and the parameters that they work on.

The formulas are those of ``torch.utils.flop_counter``: two operations for a multiply and add, nothing for element-wise
work, attention counted whole even if it is causal. While they are counted, compiled models run uncompiled.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

from .counts import RunningCount

# They move or make numbers and work none out, so that they are not missing from a count.
_NO_ARITHMETIC = frozenset(
    (
        "view _unsafe_view reshape t transpose permute expand expand_as squeeze unsqueeze slice select split"
        " split_with_sizes chunk unbind as_strided alias detach lift_fresh clone contiguous copy_ _to_copy to empty"
        " empty_like empty_strided new_empty new_empty_strided zeros zeros_like ones ones_like full full_like fill_"
        " zero_ arange rand randn randint rand_like randn_like randperm cat stack index index_select gather embedding"
        " flatten unflatten narrow detach_ set_ resize_ is_same_size _local_scalar_dense item device layout new_zeros"
        " new_ones scalar_tensor uniform_ normal_ random_ bernoulli_ _reshape_alias view_as movedim unfold diagonal"
        " numpy_T mT sym_size sym_numel sym_stride slice_backward select_backward"
    ).split()
)
_QUESTIONS = (
    "sym_is_contiguous.default is_contiguous.default is_contiguous.memory_format is_strides_like_format.default"
    " is_non_overlapping_and_dense.default size.default sym_size.default stride.default sym_stride.default"
    " storage_offset.default sym_storage_offset.default numel.default sym_numel.default dim.default"
).split()


def _mode_class(torch: Any) -> Any:
    formulas = importlib.import_module("torch.utils.flop_counter").flop_registry
    dispatch = importlib.import_module("torch.utils._python_dispatch")
    higher_order = getattr(torch._ops, "HigherOrderOperator", ())
    parameter = torch.nn.Parameter
    aten = torch.ops.aten
    # Questions about a tensor, which some kinds of tensor answer themselves.
    questions = {
        getattr(getattr(aten, packet), overload)
        for packet, overload in (name.split(".") for name in _QUESTIONS)
        if hasattr(aten, packet) and hasattr(getattr(aten, packet), overload)
    }

    class Counting(dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        """Sees every operation of its thread, runs it as it is, and adds up what the formulas say."""

        supports_higher_order_operators = True

        def __init__(self, count: RunningCount) -> None:
            super().__init__()
            self._count = count

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func in questions:
                return NotImplemented
            for value in args:
                if type(value) is parameter:
                    self._count.add_parameter(value)
            if isinstance(func, higher_order):
                # What runs inside it is not seen, unless it has a formula as a whole.
                return self._counted(func, func(*args, **kwargs), args, kwargs)
            packet = func._overloadpacket
            if packet not in formulas:
                with self:
                    parts = func.decompose(*args, **kwargs)
                if parts is not NotImplemented:
                    return parts
            return self._counted(packet, func(*args, **kwargs), args, kwargs)

        def _counted(self, operation: Any, out: Any, args: Any, kwargs: Any) -> Any:
            formula = formulas.get(operation)
            if formula is not None:
                try:
                    self._count.add(int(formula(*args, **kwargs, out_val=out)))
                    return out
                except Exception:  # a formula that does not fit must not become the program's error
                    pass
            name = getattr(operation, "__name__", str(operation))
            if name not in _NO_ARITHMETIC:
                self._count.add_uncounted(f"torch.{name}")
            return out

    # The first operation under such a mode makes PyTorch import for seconds: not inside a region.
    with Counting(RunningCount()), torch.no_grad():
        torch.ones(1, device="cpu").relu()
    return Counting


class TorchCounter:
    """Counts in the threads that have a region open."""

    def __init__(self, count: RunningCount) -> None:
        self._count = count
        self._class: Any | None = None
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
