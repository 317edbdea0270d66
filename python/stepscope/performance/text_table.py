"""Small tables for terminals: columns in line, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from .._native import time_text
from .unknown import is_unknown


def number(value: Any) -> str:
    """A number in about four digits; text stays as it is.

    >>> number(26017792), number(0.00012345), number(1234.5678), number("x"), number(None)
    ('26,017,792', '0.0001234', '1,235', 'x', 'unknown')
    """
    if is_unknown(value):
        return "unknown"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or not isfinite(value) or value == int(value):
        return f"{value:,.0f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def seconds(value: Any) -> str:
    """A time in the unit that suits it.

    >>> seconds(2.5), seconds(0.0031), seconds(4.2e-6), seconds(0.0)
    ('2.500 s', '3.100 ms', '4.200 µs', '0 ns')
    """
    return "unknown" if is_unknown(value) else time_text(value * 1e9)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Rows under a header; the columns of words to the left (the first one if nothing is said), numbers to the right.

    >>> print(aligned(["name", "time"], [["load", "1.5 s"], ["train", "12 s"]]))
    name    time
    -----  -----
    load   1.5 s
    train   12 s
    """
    widths = [max(len(row[at]) for row in [header, *rows]) for at in range(len(header))]
    lines: list[str] = []
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [cell.ljust(w) if at in left else cell.rjust(w) for at, (cell, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
