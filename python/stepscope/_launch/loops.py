"""Turns of the loop that a program is in, of which Python tells from 3.12 on.

A heuristic, for programs that do nothing else that could be counted: of the loops that the main thread is in at some
moment, the outermost that turns several times is what the program iterates. Nothing else of the program is slowed down.
"""

from __future__ import annotations

import dis
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Callable

from .._native import now_ns

#: A loop is chosen when the first of them has turned so often, and for so long.
_MIN_TURNS = 5
_MIN_NS = 1_000_000_000
#: Those of other tools may have the first.
_TOOLS = (4, 3, 5, 2)
_Place = tuple[int, int]
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class LoopWatch:
    """Calls ``turned(before)`` at the end of each turn of the loop that was chosen, with how many were seen to end
    before that was known to be the one."""

    def __init__(self, turned: Callable[[int], None]) -> None:
        self._turned = turned
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self._tool = 0
        #: Turns of each loop, the outermost first, by where it begins.
        self._turns: dict[_Place, int] = {}
        #: Other beginnings of the same loops: `while` has two.
        self._same: dict[_Place, _Place] = {}
        self._codes: list[CodeType] = []
        self._chosen: _Place | None = None
        self._began_ns = 0

    def start(self, frame: FrameType | None) -> bool:
        """Watch the loops that this frame and its callers are in; False if there are none, or Python cannot tell."""
        free = [tool for tool in _TOOLS if self._monitoring is not None and self._monitoring.get_tool(tool) is None]
        if not free:
            return False
        for each in reversed(list(_of_the_program(frame))):
            for first, *others in loops_around(each.f_code, each.f_lasti):
                place = id(each.f_code), first
                self._turns.setdefault(place, 0)
                self._same.update({(place[0], other): place for other in others})
                self._codes.append(each.f_code)
        if not self._turns:
            return False
        self._tool, self._began_ns = free[0], now_ns()
        self._monitoring.use_tool_id(self._tool, "stepscope")
        self._monitoring.register_callback(self._tool, self._monitoring.events.JUMP, self._jumped)
        for code in self._codes:
            self._monitoring.set_local_events(self._tool, code, self._monitoring.events.JUMP)
        return True

    def stop(self) -> None:
        """End."""
        if self._tool:
            for code in self._codes:
                self._monitoring.set_local_events(self._tool, code, 0)
            self._monitoring.register_callback(self._tool, self._monitoring.events.JUMP, None)
            self._monitoring.free_tool_id(self._tool)
            self._tool = 0

    def _jumped(self, code: CodeType, offset: int, to: int) -> Any:
        place = id(code), to
        loop = self._same.get(place, place)
        if loop not in self._turns or to > offset or self._chosen not in (None, loop):
            return self._monitoring.DISABLE
        if self._chosen is None:
            self._turns[loop] += 1
            outermost = next((each for each, turns in self._turns.items() if turns >= _MIN_TURNS), None)
            if loop == outermost and now_ns() - self._began_ns >= _MIN_NS:
                self._chosen = loop
        if self._chosen == loop:
            self._turned(self._turns[loop] - 1)
        return None


def _of_the_program(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if not frame.f_code.co_filename.startswith((_OURS, "<frozen ")):
            yield frame
        frame = frame.f_back


def loops_around(code: CodeType, at: int) -> list[list[int]]:
    """Where the loops begin that this instruction is in, the outermost first; with several beginnings of the same."""
    ends: dict[int, int] = {}
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("JUMP_BACKWARD"):
            ends[instruction.argval] = max(instruction.offset, ends.get(instruction.argval, 0))
    loops: list[list[int]] = []
    last = -1
    for start, end in sorted(ends.items()):
        if start <= last < end and loops:
            loops[-1].append(start)  # It crosses the one before it.
        else:
            loops.append([start])
        last = end
    whole = [(loop, max(ends[start] for start in loop)) for loop in loops]
    return [loop for loop, end in whole if loop[0] <= at <= end]
