"""``stepscope run --calls``: a timeline of every call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .._exact.call_trace import calls
from .._native import size_text
from .exact_run import BESIDE_OTHERS, ExactRun
from .follow import Plan
from .joined import append_calls


class CallsRun(ExactRun):
    """``--calls``. The file is written while the script runs."""

    mode = "calls"
    ending = ".calls"

    def make(self) -> calls:
        name = os.path.basename(self._arguments.program)
        self._timeline = calls(self._path, name=name, **self._options())
        return self._timeline

    def _options(self) -> dict[str, Any]:
        options = self._arguments.call_options
        return {
            "min_duration": options.min_duration,
            "max_calls": options.max_calls,
            "max_depth": options.max_depth,
            "include": options.include,
            "exclude": options.exclude,
        }

    def plan(self) -> Plan:
        return Plan(self.mode, self._path, calls=self._options())

    def join(self, paths: list[Path]) -> None:
        append_calls(self._path, paths)

    def where_children_are(self) -> str:
        return "all in one timeline"

    def profile_starts(self, profile: object) -> None:
        if isinstance(profile, calls) and profile is not self._timeline and not BESIDE_OTHERS:
            self.step_aside("the script records calls itself, so nothing else was recorded")

    def theirs(self) -> str:
        return "a profile function"

    def _write(self) -> None:
        timeline = self._timeline
        if timeline.displaced:
            self.notes.append(f"the script installed {self.theirs()} of its own; what came after it is missing")
        if timeline.ended_early is not None:
            self.notes.append(f"recording ended early: {timeline.ended_early}")
        self._join()
        if self._arguments.quiet:
            return
        self.notes.append(self.cost_note())
        self.notes.append(f"{self.shown()}  (open: stepscope view {self.shown()})")

    def how_much(self) -> str:
        return f"{self._timeline.calls:,} calls ({size_text(self._timeline.bytes)})"
