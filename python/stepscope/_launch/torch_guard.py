"""Giving way when the script starts PyTorch's profiler itself: there can be one at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Callable

#: What every profiler of PyTorch calls to start, looked up in ``torch.autograd.profiler``.
_STARTERS = ("_prepare_profiler", "_enable_profiler")


class TorchGuard:
    """Calls ``give_way()`` just before a profiler that is not ours starts."""

    def __init__(self, give_way: Callable[[], None]) -> None:
        self._give_way = give_way
        self._ours = 0
        self._module: Any = None
        self._originals: dict[str, Any] = {}

    def install(self, torch: Any) -> None:
        """Begin to watch."""
        self._module = torch.autograd.profiler
        for name in _STARTERS:
            original = getattr(self._module, name, None)
            if original is not None:
                self._originals[name] = original
                setattr(self._module, name, self._watched(original))

    def remove(self) -> None:
        """Watch no more."""
        originals, self._originals = self._originals, {}
        for name, original in originals.items():
            setattr(self._module, name, original)

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """What starts in here is ours."""
        self._ours += 1
        try:
            yield
        finally:
            self._ours -= 1

    def _watched(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(*arguments: Any, **keywords: Any) -> Any:
            if not self._ours:
                self._give_way()
            return original(*arguments, **keywords)

        return start
