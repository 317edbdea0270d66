"""The lines of functions as text, in the layout of ``line_profiler``."""

from __future__ import annotations

import inspect
import linecache
from dataclasses import dataclass, field
from typing import IO

_HEADINGS = ("Line #", "Hits", "Time", "Per Hit", "% Time")
_WIDTHS = (6, 9, 12, 8, 8)


@dataclass
class FunctionLines:
    """A function, and (line, hits, nanoseconds) of its lines that ran."""

    file: str
    first_line: int
    name: str
    lines: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def total_ns(self) -> int:
        """The time of all its lines."""
        return sum(ns for _, _, ns in self.lines)


def write_text(functions: list[FunctionLines], stream: IO[str], unit_s: float) -> None:
    """Write a table for each function."""
    stream.write(f"Timer unit: {unit_s:g} s\n\n")
    for function in functions:
        _write_function(function, stream, unit_s)


def _write_function(function: FunctionLines, stream: IO[str], unit_s: float) -> None:
    total_ns = function.total_ns
    stream.write(f"Total time: {total_ns * 1e-9:g} s\n")
    source = _source(function)
    stream.write(f"File: {function.file}\nFunction: {function.name} at line {function.first_line}\n")
    if source is None:
        stream.write("The file no longer exists, so the lines have no text.\n")
        source = [(line, "") for line, _, _ in function.lines]
    cells = {line: _cells(hits, ns, total_ns, 1e-9 / unit_s) for line, hits, ns in function.lines}
    widths = list(_WIDTHS)
    for row in cells.values():
        # The number of the line is never wider than its heading in files of less than a million lines.
        widths[1:] = [max(width, len(cell)) for width, cell in zip(widths[1:], row)]
    heading = _row(widths, _HEADINGS, "Line Contents")
    stream.write(f"\n{heading}\n{'=' * len(heading)}\n")
    for number, text in source:
        stream.write(_row(widths, (str(number), *cells.get(number, ("",) * 4)), text.rstrip("\r\n")) + "\n")
    stream.write("\n")


def _row(widths: list[int], cells: tuple[str, ...], text: str) -> str:
    return " ".join(cell.rjust(width) for cell, width in zip(cells, widths)) + "  " + text


def _cells(hits: int, ns: int, total_ns: int, units_per_ns: float) -> tuple[str, str, str, str]:
    share = f"{100 * ns / total_ns:5.1f}" if total_ns else ""
    return (
        _fitting(f"{hits:d}", f"{hits:g}", _WIDTHS[1]),
        _number(ns * units_per_ns, _WIDTHS[2]),
        _number(ns * units_per_ns / hits if hits else 0.0, _WIDTHS[3]),
        share,
    )


def _number(value: float, width: int) -> str:
    return _fitting(f"{value:5.1f}", f"{value:5.3g}", width)


def _fitting(exact: str, rounded: str, width: int) -> str:
    return exact if len(exact) <= width else rounded


def _source(function: FunctionLines) -> list[tuple[int, str]] | None:
    """The lines of the function with their numbers; None if they cannot be found."""
    lines = linecache.getlines(function.file)
    if not lines:
        return None
    try:
        block = inspect.getblock(lines[function.first_line - 1 :])
    except Exception:  # a text that is not Python's any more
        block = lines[function.first_line - 1 : function.first_line]
    return list(enumerate(block, function.first_line))
