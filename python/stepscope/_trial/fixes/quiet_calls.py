"""Calls inside the loop that need not be there: they do nothing, and are counted."""

from __future__ import annotations

import functools
import gc
from typing import Any, Callable

from .base import SAME, Fix, Refused, called_by, counted
from .outermost import OUTERMOST, Call


class QuietCalls(Fix):
    """Functions that do nothing for the program once it has called a model.

    PyTorch, its compilers and the measurement itself still reach the genuine ones.
    """

    numbers = SAME

    def __init__(self) -> None:
        super().__init__()
        self._in_loop = False
        self._counts: dict[str, int] = {}

    def prepare(self, torch: Any) -> None:
        OUTERMOST.add(torch, self._around)

    def observe(self) -> str:
        if not self._counts:
            raise Refused(self.reason or "the program does not do that in its loop")
        said = " and ".join(f"{counted(count, 'call')} of {name}" for name, count in sorted(self._counts.items()))
        return f"{said} did nothing"

    def quiet(self, owner: Any, name: str, result: Any, matters: Callable[[], bool] = lambda: True) -> None:
        """Have ``owner.name`` do nothing in the loop but return ``result``, where it would do something."""
        plain = getattr(owner, name)
        shown = f"{owner.__name__}.{name}"

        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._in_loop or self.refusal or self.elsewhere or called_by("torch", "triton", "stepscope"):
                return plain(*args, **kwargs)
            if matters():
                self._counts[shown] = self._counts.get(shown, 0) + 1
            return result

        setattr(owner, name, call)

    def _around(self, module: Any, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._in_loop = True
        return call(*args, **kwargs)


class KeepCache(QuietCalls):
    name = "keep-cache"
    title = "no cache clearing"
    code = "# without torch.cuda.empty_cache() and gc.collect() in the loop"

    def install(self) -> None:
        # Before the program can take it out of its module.
        self.quiet(gc, "collect", 0)
        super().install()

    def prepare(self, torch: Any) -> None:
        super().prepare(torch)
        self.quiet(torch.cuda, "empty_cache", None, torch.cuda.is_initialized)


class NoSynchronize(QuietCalls):
    name = "no-synchronize"
    title = "no synchronize"
    code = "# without torch.cuda.synchronize() in the loop"

    def prepare(self, torch: Any) -> None:
        super().prepare(torch)
        self.quiet(torch.cuda, "synchronize", None)
        for name in ("to", "copy_"):
            self._watch_copies(torch.Tensor, name)

    def observe(self) -> str:
        self.needs_cuda()
        return super().observe()

    def _watch_copies(self, kind: Any, name: str) -> None:
        """A program that copies to the host without waiting needs its synchronize to read what it copied."""
        plain = getattr(kind, name)

        def copy(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            result = plain(tensor, *args, **kwargs)
            # The flag may come by position: `copy_(source, True)`, `to(device, dtype, True)`.
            if kwargs.get("non_blocking") or any(each is True for each in args):
                source = (args[0] if args else kwargs.get("src")) if name == "copy_" else tensor
                if result.is_cpu and getattr(source, "is_cuda", False):
                    self.refuse("the program copies to the host without waiting, and has to synchronize")
                    self.torch.cuda.synchronize()
            return result

        setattr(kind, name, copy)
