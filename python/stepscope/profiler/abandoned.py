"""Profilers that were started and never stopped, because an error came in between or no one has them any more."""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType, TracebackType

from .warn import user_frame


class StartPlace:
    """Where the program started a profiler. It refers to nothing of the program's, so that it keeps nothing alive."""

    def __init__(self) -> None:
        frame = user_frame()
        self.thread = threading.get_ident()
        self._code: CodeType | None = None if frame is None else frame.f_code
        self._frame = id(frame)
        self._line = 0 if frame is None else frame.f_lineno

    def __str__(self) -> str:
        return "an unknown place" if self._code is None else f"{self._code.co_filename}:{self._line}"

    def was_left_by_an_error(self) -> bool:
        """Whether the code that started it was ended by the last error that reached the top, as of a cell of a
        notebook: it cannot stop anything any more."""
        error = getattr(sys, "last_exc", None)  # since Python 3.12
        trace: TracebackType | None = error.__traceback__ if error is not None else getattr(sys, "last_traceback", None)
        while trace is not None:
            if self._is(trace.tb_frame):
                return True
            trace = trace.tb_next
        return False

    def _is(self, frame: FrameType) -> bool:
        return id(frame) == self._frame and frame.f_code is self._code
