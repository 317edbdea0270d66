"""``stepscope run --functions``: every call counted, and a table at the end."""

from __future__ import annotations

import io
import os
from pathlib import Path

from .._exact.functions import functions
from .exact_run import BESIDE_OTHERS, KEEP_EVERY_S, ExactRun
from .joined import add_functions


class FunctionsRun(ExactRun):
    """``--functions``."""

    mode = "functions"
    ending = ".prof"
    question = "functions"

    def make(self) -> functions:
        self._calls = functions()
        self._calls.keep(self._path, KEEP_EVERY_S)
        return self._calls

    def save(self) -> None:
        self._calls.save(self._path)

    def join(self, paths: list[Path]) -> None:
        stem, ending = os.path.splitext(self._path)
        self._calls.save(f"{stem}.MainProcess-{self._process}{ending}")
        self._calls.replace(add_functions(self._calls.stats, paths))

    def profile_starts(self, profile: object) -> None:
        if isinstance(profile, functions) and profile is not self._calls and not BESIDE_OTHERS:
            self.step_aside("the script counts calls itself, so nothing else was recorded")

    def theirs(self) -> str:
        return "a profile function"

    def is_empty(self) -> bool:
        return not self._calls.stats

    def why_empty(self) -> str:
        return "no calls were seen"

    def how_much(self) -> str:
        return f"{self._calls.calls:,} calls"

    def write_table(self, stream: io.StringIO) -> None:
        self._calls.print_stats(self._arguments.sort, self._arguments.top or None, stream)
