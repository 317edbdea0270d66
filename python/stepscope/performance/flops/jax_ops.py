"""Counts JAX's compiled functions, each of which has to be wrapped once: ``step = count_jax(jax.jit(step))``.

A compiled function runs without coming back to Python, and JAX has no public hook that sees each call. So nothing can
be counted behind the program's back without changing how it runs.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Hashable
from types import MethodType
from typing import Any, Callable, cast

from ...errors import StepscopeError
from ..unknown import Metric, Unknown
from .counts import counts_open_here
from .jaxpr import Work, work_of

WRAP_HINT = "wrap them once: step = stepscope.performance.count_jax(jax.jit(step))"
UNSEEN_NOTE = f"jax: compiled functions are not seen; {WRAP_HINT}"

MAX_KEPT = 256
"""Traced programs of one function that are remembered."""


def count_jax(function: Callable[..., Any]) -> Any:
    """The same compiled function, whose calls count in the regions that are open around them.

    >>> step = count_jax(jax.jit(step))                                       # doctest: +SKIP
    >>> profiler = PerformanceProfiler(estimate_flops=True)                   # doctest: +SKIP
    >>> with profiler.profile("training"):                                    # doctest: +SKIP
    ...     state = step(state, batch).block_until_ready()
    >>> profiler.get_metrics().compute.estimated_flops                        # doctest: +SKIP
    1_610_612_736

    The metric is of the program that JAX traces for the call, which is read once for each set of shapes. Results,
    errors and the attributes of the function stay as they are; outside regions of a profiler with ``estimate_flops`` a
    call goes straight through. JAX returns before its work is done: for a rate, wait for it inside the region.

    ``count_jax(step).flops(state, batch)`` says what one call would take, and runs nothing.
    """
    if isinstance(function, _CountingFunction):
        return function
    if not callable(function) or not callable(getattr(function, "trace", None)):
        raise StepscopeError(
            f"{getattr(function, '__qualname__', function)!r} is not a compiled function of JAX",
            hint="use count_jax(jax.jit(function)), with JAX 0.4.30 or later",
        )
    return _CountingFunction(function)


class _CountingFunction:
    """Replaces a compiled function: counts, and is the function in all else."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function
        self._by_shapes: dict[Hashable, Work] = {}
        # With the program itself, so that no other gets its number.
        self._by_program: dict[int, tuple[Any, Work]] = {}
        self._array_types: set[type] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        counts = counts_open_here()
        if not counts:
            return self.__wrapped__(*args, **kwargs)
        # Before the call, which may take its arguments' memory away.
        work = self._work(args, kwargs)
        result = self.__wrapped__(*args, **kwargs)
        for count in counts:
            if isinstance(work, Work):
                count.add_many(work.flops, work.operations, work.uncounted)
            elif work is not None:
                count.add_uncounted(f"jax: {getattr(self, '__name__', 'a function')} could not be traced: {work}")
        return result

    def flops(self, *args: Any, **kwargs: Any) -> Metric:
        """What one call with these arguments (or ``jax.ShapeDtypeStruct`` in their place) would take; runs nothing."""
        work = self._work(args, kwargs)
        if work is None:
            return Unknown("the call is part of another function that is being traced")
        if not isinstance(work, Work):
            return Unknown(f"JAX could not trace it: {work}")
        if work.not_whole:
            return Unknown(f"how much this does is not known: {', '.join(work.not_whole)}")
        if work.uncounted and not work.operations:
            return Unknown(f"only operations without a formula: {', '.join(sorted(work.uncounted))}")
        return work.flops

    def _work(self, args: Any, kwargs: Any) -> Work | str | None:
        """What a call does; why that is not known; or ``None`` for one that is traced into another function."""
        jax = sys.modules["jax"]
        try:
            leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
            known = self._array_types
            key: Hashable | None = None
            if all(type(leaf) in known or self._is_array(jax, leaf) for leaf in leaves):
                key = (structure, tuple([(leaf.shape, leaf.dtype) for leaf in leaves]))
                found = self._by_shapes.get(key)
                if found is not None:
                    return found
            if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
                return None
            # A function that was called before with such arguments is not traced again, and one that is traced here
            # is not when it is called.
            program = cast(Any, self.__wrapped__).trace(*args, **kwargs).jaxpr
            work = self._of_program(jax, program)
        except Exception as error:  # the call itself will say what is wrong, if anything is
            return f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        if key is not None:
            if len(self._by_shapes) >= MAX_KEPT:
                self._by_shapes.clear()
            self._by_shapes[key] = work
        return work

    def _is_array(self, jax: Any, leaf: Any) -> bool:
        """Whether shape and dtype are all there is to know of an argument. Of numbers and strings they are not."""
        numpy = sys.modules.get("numpy")
        if isinstance(leaf, jax.core.Tracer) or not isinstance(leaf, (jax.Array, getattr(numpy, "ndarray", ()))):
            return False
        self._array_types.add(type(leaf))
        return True

    def _of_program(self, jax: Any, program: Any) -> Work:
        known = self._by_program.get(id(program))
        if known is not None:
            return known[1]
        inexact = sys.modules["numpy"].inexact
        work = work_of(program, lambda dtype: bool(jax.dtypes.issubdtype(dtype, inexact)))
        if len(self._by_program) >= MAX_KEPT:
            self._by_program.clear()
        self._by_program[id(program)] = (program, work)
        return work

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        # Not before it is set, as while an object is copied.
        if name == "__wrapped__":
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return f"<counted {self.__wrapped__!r}>"
