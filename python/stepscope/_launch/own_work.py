"""What is ours in the middle of a script that is recorded: the script must not notice it."""

from __future__ import annotations

import os
import threading
from typing import Callable

from .._native import now_ns
from ..errors import StepscopeError


class OwnWork:
    """Does one thing of ours at a time, and keeps what goes wrong as a note.

    Once something has been done in the main thread, ``took`` gets the moment it began.
    """

    def __init__(self, notes: list[str], took: Callable[[int], None]) -> None:
        self._notes = notes
        self._took = took
        #: Whether what it takes of the main thread counts.
        self.is_timed = True
        self._process = os.getpid()
        self._here = threading.local()
        self._lock = threading.RLock()
        #: What is to be done in the main thread, though the script goes on.
        self._overdue: Callable[[], None] | None = None

    @property
    def in_forked_child(self) -> bool:
        """Whether this is a forked child of the process that records, to which the lock belongs."""
        return os.getpid() != self._process

    @property
    def depth(self) -> int:
        """How many things of ours this thread is in, one inside the other."""
        return getattr(self._here, "depth", 0)

    def safely(self, do: Callable[[], None]) -> None:
        """Do it now."""
        if self.in_forked_child:
            return
        self._here.depth = self.depth + 1
        is_outermost = self.depth == 1 and threading.current_thread() is threading.main_thread()
        began_ns = now_ns() if is_outermost and self.is_timed else None
        try:
            with self._lock:
                do()
                if self._overdue is not None and is_outermost:
                    overdue, self._overdue = self._overdue, None
                    overdue()
        except Exception as error:  # the script must not see it
            known = isinstance(error, StepscopeError)
            self._notes.append(str(error) if known else f"{type(error).__name__}: {error}")
        finally:
            self._here.depth -= 1
            if began_ns is not None:
                self._took(began_ns)

    def soon(self, do: Callable[[], None]) -> None:
        """Do it in the main thread, when nothing of ours is at work there: now, or after it."""
        self._overdue = do
        if not self.depth:
            self.safely(lambda: None)
