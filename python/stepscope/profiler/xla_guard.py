"""Noticing that the program starts the profiler of JAX or TensorFlow itself: one can run at a time, and the program's
goes first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Callable

from .ours import Ours

ours = Ours()


class XlaGuard:
    """Calls ``give_way()`` just before a profiler that is not ours starts through one of these functions.

    ``places`` are names of modules with the name of a function; what is not there is left out.
    """

    def __init__(self, places: Sequence[tuple[str, str]], give_way: Callable[[], None]) -> None:
        self._places = places
        self._give_way = give_way
        self._originals: list[tuple[Any, str, Any, Any]] = []

    def install(self) -> None:
        """Begin to watch."""
        for module_name, name in self._places:
            module = sys.modules.get(module_name)
            original = getattr(module, name, None)
            if module is not None and original is not None:
                watched = self._watched(original)
                setattr(module, name, watched)
                self._originals.append((module, name, original, watched))

    def remove(self) -> None:
        """Watch no more."""
        originals, self._originals = self._originals, []
        for module, name, original, watched in reversed(originals):
            if getattr(module, name, None) is watched:
                setattr(module, name, original)

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(*arguments: Any, **keywords: Any) -> Any:
            if not ours:
                self._give_way()
            return original(*arguments, **keywords)

        return start
