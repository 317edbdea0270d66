"""The lines of several processes of one run, put together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from .._exact.line_text import FunctionLines
from ..errors import StepscopeError
from ..trace import open as open_trace

LineTime = tuple[tuple[str, int, str], int, int, int]
"""File, first line and name of the function; line, hits, nanoseconds."""


def add_lines(functions: list[FunctionLines], paths: list[Path]) -> list[FunctionLines]:
    """The lines of all processes, hits and times added."""
    sums: dict[tuple[str, int, str], dict[int, tuple[int, int]]] = {
        (one.file, one.first_line, one.name): {} for one in functions
    }

    def add(times: Iterable[LineTime]) -> None:
        for place, line, hits, ns in times:
            lines = sums.setdefault(place, {})
            known = lines.get(line, (0, 0))
            lines[line] = (known[0] + hits, known[1] + ns)

    add(((one.file, one.first_line, one.name), *line) for one in functions for line in one.lines)
    for path in paths:
        with contextlib.suppress(StepscopeError, OSError):
            rows = open_trace(path).lines()
            add(
                ((row["file"], row["function_line"], row["function"]), row["line"], row["hits"] or 0, row["time_ns"])
                for row in rows
            )
    return [
        FunctionLines(*place, [(line, *both) for line, both in sorted(lines.items())])
        for place, lines in sorted(sums.items())
    ]
