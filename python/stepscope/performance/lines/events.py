"""Where the events come from: ``sys.monitoring`` from Python 3.12 on, ``sys.settrace`` before.

``sys.monitoring`` is told once that a line is not the user's and never calls again for it. ``sys.settrace`` is called
for every function that starts, and there is only one: if a debugger or a coverage tool has it, lines are not timed.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any

from .stopwatch import Stopwatch
from .user_code import is_user_code

MAX_FRAMES = 200


class TraceEvents:
    """Times lines of the calling thread through ``sys.settrace``."""

    def __init__(self) -> None:
        self._frames: dict[int, list[tuple[FrameType, Any]]] = {}

    def start(self, stopwatch: Stopwatch) -> str:
        """Starts in this thread. Returns why it could not, or nothing."""
        other = sys.gettrace()
        if other is not None:
            return f"another tool traces this thread ({type(other).__name__}): a debugger or a coverage measurement"

        def local(frame: FrameType, event: str, _arg: Any) -> Any:
            if event == "line":
                stopwatch.line(frame.f_code, frame.f_lineno)
            elif event == "return":
                stopwatch.returned()
            return local

        def started(frame: FrameType, event: str, _arg: Any) -> Any:
            if event != "call" or not is_user_code(frame.f_code.co_filename):
                return None
            stopwatch.called()
            return local

        # The functions that run already see no call, so they are told one by one.
        held: list[tuple[FrameType, Any]] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and len(held) < MAX_FRAMES:
            if is_user_code(frame.f_code.co_filename):
                held.append((frame, frame.f_trace))
                frame.f_trace = local
            frame = frame.f_back
        self._frames[threading.get_ident()] = held
        sys.settrace(started)
        return ""

    def stop(self) -> None:
        """Stops in this thread."""
        sys.settrace(None)
        for frame, before in self._frames.pop(threading.get_ident(), []):
            frame.f_trace = before


class MonitoringEvents:
    """Times lines through ``sys.monitoring``, in the threads that asked for it."""

    def __init__(self) -> None:
        self._api: Any = getattr(sys, "monitoring")
        self._tool: int | None = None
        self._watched: dict[int, Stopwatch] = {}
        self._lock = threading.Lock()

    def start(self, stopwatch: Stopwatch) -> str:
        """Starts in this thread. Returns why it could not, or nothing."""
        with self._lock:
            if self._tool is None:
                free = [number for number in (2, 3, 4) if self._api.get_tool(number) is None]
                if not free:
                    return "all places of sys.monitoring are taken by other tools"
                self._tool = free[0]
                self._listen(self._tool)
            self._watched[threading.get_ident()] = stopwatch
        return ""

    def stop(self) -> None:
        """Stops in this thread; for good if it was the last."""
        with self._lock:
            self._watched.pop(threading.get_ident(), None)
            if self._watched or self._tool is None:
                return
            self._api.set_events(self._tool, 0)
            for event in self._handlers():
                self._api.register_callback(self._tool, event, None)
            self._api.free_tool_id(self._tool)
            self._tool = None

    def _listen(self, tool: int) -> None:
        self._api.use_tool_id(tool, "stepscope")
        handlers = self._handlers()
        for event, handler in handlers.items():
            self._api.register_callback(tool, event, handler)
        self._api.set_events(tool, sum(handlers))

    def _handlers(self) -> dict[int, Any]:
        watched, disable, ident = self._watched, self._api.DISABLE, threading.get_ident
        events = self._api.events

        def line(code: CodeType, number: int) -> Any:
            if not is_user_code(code.co_filename):
                return disable
            stopwatch = watched.get(ident())
            if stopwatch is not None:
                stopwatch.line(code, number)
            return None

        def started(code: CodeType, *_rest: Any) -> Any:
            if not is_user_code(code.co_filename):
                return disable
            stopwatch = watched.get(ident())
            if stopwatch is not None:
                stopwatch.called()
            return None

        def ended(code: CodeType, *_rest: Any) -> Any:
            if not is_user_code(code.co_filename):
                return disable
            stopwatch = watched.get(ident())
            if stopwatch is not None:
                stopwatch.returned()
            return None

        def thrown(code: CodeType, *rest: Any) -> None:
            started(code, *rest)

        def unwound(code: CodeType, *rest: Any) -> None:
            ended(code, *rest)

        return {
            events.LINE: line,
            events.PY_START: started,
            events.PY_RESUME: started,
            events.PY_THROW: thrown,
            events.PY_RETURN: ended,
            events.PY_YIELD: ended,
            events.PY_UNWIND: unwound,
        }


def line_events() -> Any:
    """The better of the two that this Python has."""
    return MonitoringEvents() if hasattr(sys, "monitoring") else TraceEvents()
