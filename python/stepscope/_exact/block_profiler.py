"""What profiles a block or a function: it starts and stops, however often it is entered while it runs."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Callable, TypeVar

from .._decorate import wrap
from .._forks import unwatch, watch

Function = TypeVar("Function", bound=Callable[..., Any])
Self = TypeVar("Self", bound="BlockProfiler")


class BlockProfiler:
    """``with profiler:``, ``@profiler``, or :meth:`start` and :meth:`stop`."""

    def __init__(self) -> None:
        self._depth = 0
        self._lock = threading.RLock()  # a signal may come in between

    def start(self) -> None:
        """Begin."""
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
        watch(self)
        try:
            # Last of all: what comes before is not the program's.
            self._begin()
        except BaseException:
            self._depth = 0
            unwatch(self)
            raise

    def stop(self) -> None:
        """Stop."""
        if self._depth == 1:
            try:
                # First of all, as above.
                self._end()
            finally:
                unwatch(self)
        with self._lock:
            self._depth = max(0, self._depth - 1)

    def _begin(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __call__(self, function: Function) -> Function:
        """The function, profiled whenever it runs."""
        return wrap(function, lambda: self)

    def turn_off_in_child(self) -> None:
        """In a forked child: what was recorded is the parent's."""
        self._depth = 0
        self._lock = threading.RLock()
