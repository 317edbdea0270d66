"""A lock that a forked child can have anew.

Another thread of the parent may have held it at the moment of the fork. That thread is not in the child and would never
let go, so the child takes a new lock inside the same object, which everyone who shares it then uses.
"""

from __future__ import annotations

import threading


class ForkLock:
    """A lock that its holder may take again, and that can be made new in place."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_exception: object) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """No one holds it any more."""
        self._lock = threading.RLock()
