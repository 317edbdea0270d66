"""Finds the functions that are worth timing: those of the user's that a program is in when it is looked at."""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections import Counter
from types import CodeType, FrameType
from typing import Callable

from .._user_code import is_user_code

#: How long the program is looked at.
LOOK_S = 1.0
#: Seconds between two samples.
EVERY_S = 0.005
#: Functions that are picked at most, and the share of samples that one must have.
MAX_FUNCTIONS = 5
MIN_SHARE = 0.05


class HotFunctions:
    """Looks at all threads for a while, then calls ``found`` with the busiest functions of the user's.

    A function is busy when it, or other people's code that it called, runs. A thread that waits is seen where it waits.
    """

    def __init__(self, found: Callable[[list[CodeType]], None], seconds: float = LOOK_S) -> None:
        self._found = found
        self._seconds = seconds
        self._over = threading.Event()
        self._counts: Counter[CodeType] = Counter()
        self._thread = threading.Thread(target=self._sample, name="stepscope-hot", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking; nothing is called any more."""
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        own = threading.get_ident()
        end_s = time.monotonic() + self._seconds
        while time.monotonic() < end_s:
            if self._over.wait(EVERY_S):
                return
            for thread, frame in sys._current_frames().items():
                if thread != own:
                    code = _users(frame)
                    if code is not None:
                        self._counts[code] += 1
        self._found(busiest(self._counts))


def busiest(counts: Counter[CodeType]) -> list[CodeType]:
    """The few that have most of it.

    >>> codes = [function.__code__ for function in (busiest, _users, HotFunctions.start)]
    >>> [code.co_name for code in busiest(Counter(dict(zip(codes, [90, 3, 107]))))]
    ['start', 'busiest']
    """
    least = MIN_SHARE * sum(counts.values())
    return [code for code, count in counts.most_common(MAX_FUNCTIONS) if count >= least]


def _users(frame: FrameType | None) -> CodeType | None:
    """The innermost function of the user's."""
    while frame is not None:
        code = frame.f_code
        if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<") and is_user_code(code.co_filename):
            return code
        frame = frame.f_back
    return None
