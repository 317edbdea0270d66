"""What lines did to memory as text, in the layout of ``memory_profiler``."""

from __future__ import annotations

import inspect
import linecache
from itertools import groupby
from typing import IO

LineOfMemory = tuple[str, int, str, int, int, int, int]
"""File, first line and name of the function; line, occurrences, bytes in memory after it and bytes that it added."""

_ROW_FORMAT = "{0:>6} {1:>12} {2:>12}  {3:>10}   {4:<}"
_HEADINGS = ("Line #", "Mem usage", "Increment", "Occurrences", "Line Contents")
_MIB = float(1 << 20)


def write_lines(rows: list[LineOfMemory], stream: IO[str]) -> None:
    """Write a table for each function."""
    for (file, first, _), of_function in groupby(sorted(rows), key=lambda row: row[:3]):
        known = {line: (occurrences, after, added) for _, _, _, line, occurrences, after, added in of_function}
        stream.write(f"Filename: {file}\n\n")
        heading = _ROW_FORMAT.format(*_HEADINGS)
        stream.write(f"{heading}\n{'=' * len(heading)}\n")
        for number, text in _source(file, first, sorted(known)):
            occurrences, after, added = known.get(number, (None, 0, 0))
            cells = ("", "", "") if occurrences is None else (_mib(after), _mib(added), str(occurrences))
            stream.write(_ROW_FORMAT.format(number, *cells, text.rstrip("\r\n")) + "\n")
        stream.write("\n\n")


def _mib(amount: int) -> str:
    return f"{amount / _MIB:.3f} MiB"


def _source(file: str, first: int, ran: list[int]) -> list[tuple[int, str]]:
    """The lines of the function with their numbers; those that ran, without text, if it cannot be found."""
    lines = linecache.getlines(file)
    if not lines:
        return [(line, "") for line in ran]
    try:
        block = inspect.getblock(lines[first - 1 :])
    except Exception:  # a text that is not Python's any more
        block = lines[first - 1 : max(ran, default=first)]
    return list(enumerate(block, first))
