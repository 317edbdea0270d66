"""Noticing calls of functions that JAX compiled, and steps that the program marks for JAX's profiler.

JAX calls a hook after each call of a compiled function: the one with which it checks results (``jax_debug_nans``). It
is reached from C++, also for functions that were compiled before, needs no change of any function, and costs nothing
once it is gone. A program that has results checked keeps its own."""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any, Callable

from .repeated_calls import RepeatedCalls


def watch_calls(seen: Callable[[RepeatedCalls], None]) -> Callable[[], None] | None:
    """Call ``seen`` at the end of the call of a compiled function that ends an iteration. What ends that is returned;
    None if this JAX has no such hook, or the program uses it."""
    place = _hook_place()
    if place is None or place[0]() is not None:
        return None
    get, put = place
    calls = RepeatedCalls()
    #: Whether a function is the program's, by its address. JAX's own, of which NumPy's names are made, live forever.
    of_program: dict[int, bool] = {}

    def hook(function: Any, _arguments: Any, _keywords: Any, _result: Any) -> None:
        number = id(function)
        counts = of_program.get(number)
        if counts is None:
            counts = of_program[number] = not str(getattr(function, "__module__", "jax.")).startswith("jax.")
        if counts and calls.called((threading.get_ident(), number)):
            seen(calls)

    def remove() -> None:
        if get() is hook:
            put(None)

    put(hook)
    return remove


def watch_marks(profiler: Any, seen: Callable[[], None]) -> Callable[[], None] | None:
    """The same for steps that the program marks. A mark begins when it is made, not when it is entered."""
    marks = getattr(profiler, "StepTraceAnnotation", None)
    make = vars(marks).get("__init__") if isinstance(marks, type) else None
    if make is None:
        return None

    @functools.wraps(make)
    def tell_and_make(*arguments: Any, **keywords: Any) -> None:
        seen()
        make(*arguments, **keywords)

    def remove() -> None:
        if vars(marks).get("__init__") is tell_and_make:
            marks.__init__ = make  # type: ignore[misc]

    marks.__init__ = tell_and_make  # type: ignore[misc]
    return remove


def _hook_place() -> tuple[Callable[[], Any], Callable[[Any], None]] | None:
    state = getattr(sys.modules.get("jax._src.api"), "_post_hook_state", None)
    if state is not None:
        return state.get_global, state.set_global
    jit: Any = getattr(sys.modules.get("jax._src.lib"), "jax_jit", None)
    if not hasattr(jit, "global_state"):
        return None
    before_2025 = jit.global_state()
    return lambda: before_2025.post_hook, lambda hook: setattr(before_2025, "post_hook", hook)
