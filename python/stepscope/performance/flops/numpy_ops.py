"""Counts numpy's products while a region is open: ``dot``, ``matmul``, ``inner``, ``vdot``, ``tensordot``, ``einsum``.

The functions of the module ``numpy`` are replaced for that time by ones that count and call them. What does not go
through the module is not seen: ``a @ b`` and ``a.dot(b)`` are compiled into the array type, and names that were
imported from numpy before (``from numpy import dot``) are numpy's own. They are named in ``metrics.compute.uncounted``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from math import isqrt
from typing import Any, Callable

from .counts import RunningCount, elements

UNSEEN_NOTE = "numpy: a @ b and a.dot(b) cannot be seen"

_FLOAT_KINDS = "fc"


def product_flops(first: Any, result: Any) -> int | None:
    """Of ``dot``, ``matmul``, ``inner``: each number of the result is a sum over the first operand's last axis."""
    shape = getattr(first, "shape", None)
    if not shape:
        return None
    return 2 * int(shape[-1]) * elements(result)


def tensordot_flops(first: Any, second: Any, result: Any) -> int | None:
    """Each number of the result is a sum over the axes that were contracted."""
    out = elements(result)
    if not out:
        return 0
    # first = kept x contracted, second = contracted x kept, result = kept x kept
    return 2 * out * isqrt(elements(first) * elements(second) // out)


def einsum_flops(subscripts: Any, operands: Sequence[Any]) -> int | None:
    """Of two operands: a multiply for each combination of indices, and an add where an index is summed over.

    >>> class Array:
    ...     def __init__(self, *shape): self.shape = shape
    >>> einsum_flops("ij,jk->ik", [Array(2, 3), Array(3, 4)]), einsum_flops("i,j->ij", [Array(2), Array(3)])
    (48, 6)
    """
    if not isinstance(subscripts, str) or len(operands) != 2 or "." in subscripts:
        return None
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for letters, operand in zip(inputs.split(","), operands):
        for letter, size in zip(letters, getattr(operand, "shape", ())):
            sizes[letter] = max(sizes.get(letter, 1), int(size))
    if not arrow:
        flat = inputs.replace(",", "")
        output = "".join(letter for letter in flat if flat.count(letter) == 1)
    every = 1
    for size in sizes.values():
        every *= size
    return every * (2 if set(sizes) - set(output) else 1)


def _flops_of(name: str, args: Sequence[Any], result: Any) -> int | None:
    if getattr(getattr(result, "dtype", None), "kind", "") not in _FLOAT_KINDS:
        return None
    if name == "einsum":
        return einsum_flops(args[0], args[1:]) if args else None
    if len(args) < 2:
        return None
    if name == "tensordot":
        return tensordot_flops(args[0], args[1], result)
    if name == "vdot":
        return 2 * elements(args[0])
    if name == "dot" and not getattr(args[1], "shape", None):
        return None
    return product_flops(args[0], result)


class _CountingFunction:
    """Replaces a function of numpy: counts, and is the function in all else."""

    def __init__(self, name: str, original: Callable[..., Any], count: RunningCount) -> None:
        self.__wrapped__ = original
        self._name = name
        self._count = count

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.__wrapped__(*args, **kwargs)
        try:
            flops = _flops_of(self._name, args, result)
        except Exception:  # a shape we do not understand must not become the program's error
            flops = None
        if flops is None:
            self._count.add_uncounted(f"numpy.{self._name}")
        else:
            self._count.add(flops)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class NumpyCounter:
    """Replaces the functions while at least one region is open."""

    NAMES = ("dot", "matmul", "inner", "vdot", "tensordot", "einsum")

    def __init__(self, count: RunningCount) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._users = 0
        self._replaced: dict[str, _CountingFunction] = {}

    def open(self) -> bool:
        """Starts counting, if the program has imported numpy."""
        numpy = sys.modules.get("numpy")
        if numpy is None or not hasattr(numpy, "einsum"):
            return False
        with self._lock:
            self._users += 1
            if self._users == 1:
                for name in self.NAMES:
                    counting = _CountingFunction(name, getattr(numpy, name), self._count)
                    self._replaced[name] = counting
                    setattr(numpy, name, counting)
        return True

    def close(self) -> None:
        """Stops, if this was the last; what someone else has put there since stays."""
        numpy = sys.modules.get("numpy")
        with self._lock:
            self._users -= 1
            if self._users:
                return
            for name, counting in self._replaced.items():
                if getattr(numpy, name, None) is counting:
                    setattr(numpy, name, counting.__wrapped__)
            self._replaced.clear()

    def after_fork_in_child(self) -> None:
        """A lock that no one holds."""
        self._lock = threading.Lock()
