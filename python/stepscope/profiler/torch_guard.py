"""Noticing that the program starts PyTorch's profiler itself: one can run at a time, and the program's goes first."""

from __future__ import annotations

from typing import Any, Callable

from .ours import Ours

#: What every profiler of PyTorch calls to start, looked up in ``torch.autograd.profiler``.
_STARTERS = ("_prepare_profiler", "_enable_profiler")

_watching: list[TorchGuard] = []
_originals: dict[str, Any] = {}
"""What stood there before; while anyone watches, ours stand there."""
ours = Ours()


class TorchGuard:
    """Calls ``give_way()`` just before a profiler that is not ours starts."""

    def __init__(self, give_way: Callable[[], None]) -> None:
        self.give_way = give_way

    def install(self, torch: Any) -> None:
        """Begin to watch."""
        if self in _watching:
            return
        module = torch.autograd.profiler
        if not _watching:
            for name in _STARTERS:
                original = getattr(module, name, None)
                if original is not None:
                    _originals[name] = (module, original)
                    setattr(module, name, _watched(original))
        _watching.append(self)

    def remove(self) -> None:
        """Watch no more."""
        if self not in _watching:
            return
        _watching.remove(self)
        if not _watching:
            for name, (module, original) in _originals.items():
                setattr(module, name, original)
            _originals.clear()


def _watched(original: Callable[..., Any]) -> Callable[..., Any]:
    def start(*arguments: Any, **keywords: Any) -> Any:
        if not ours:
            for guard in list(_watching):
                guard.give_way()
        return original(*arguments, **keywords)

    return start
