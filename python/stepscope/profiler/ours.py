"""Telling a profiler that we start from one that the program starts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Ours(threading.local):
    """Called, a block in which whatever this thread starts is ours, and no one gives way to it. True inside of it."""

    depth = 0

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def __bool__(self) -> bool:
        return self.depth > 0
