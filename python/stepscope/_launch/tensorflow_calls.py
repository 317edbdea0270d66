"""Noticing calls of a ``tf.function``, and batches of Keras."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Callable

from .repeated_calls import RepeatedCalls

FUNCTIONS = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
CALLBACKS = "keras.src.callbacks.callback_list"


def watch_functions(module: Any, seen: Callable[[RepeatedCalls], None]) -> Callable[[], None] | None:
    """Call ``seen`` at the beginning of the call of a function that begins an iteration. What ends that is returned."""
    kind = getattr(module, "Function", None)
    if kind is None:
        return None
    call = kind.__call__
    calls = RepeatedCalls()
    depths = threading.local()

    def call_and_tell(function: Any, *arguments: Any, **keywords: Any) -> Any:
        depth = getattr(depths, "depth", 0)
        # Functions that a function calls are part of it.
        if depth == 0 and calls.called((threading.get_ident(), id(function))):
            seen(calls)
        depths.depth = depth + 1
        try:
            return call(function, *arguments, **keywords)
        finally:
            depths.depth = depth

    return _replace(kind, "__call__", call_and_tell)


def watch_batches(stages: Sequence[str], module: Any, seen: Callable[[], None]) -> Callable[[], None] | None:
    """Call ``seen`` when Keras begins a batch: ``stages`` are those of "train", "test" and "predict"."""
    callbacks = getattr(module, "CallbackList", None)
    if callbacks is None:
        return None

    def noted(begins: Any) -> Any:
        def begins_and_tells(callbacks: Any, *arguments: Any, **keywords: Any) -> Any:
            seen()
            return begins(callbacks, *arguments, **keywords)

        return begins_and_tells

    names = [f"on_{stage}_batch_begin" for stage in stages]
    restores = [_replace(callbacks, name, noted(vars(callbacks)[name])) for name in names if name in vars(callbacks)]

    def remove() -> None:
        for restore in restores:
            restore()

    return remove


def _replace(owner: Any, name: str, function: Any) -> Callable[[], None]:
    theirs = vars(owner)[name]

    def restore() -> None:
        if vars(owner).get(name) is function:
            setattr(owner, name, theirs)

    setattr(owner, name, function)
    return restore
