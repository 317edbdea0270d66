"""What ``pstats`` works with: a dict of functions, and files of it."""

from __future__ import annotations

import marshal
from typing import Any

from .._writing import whole_file, written_by

Label = tuple[str, int, str]
"""File, first line, name."""

Caller = tuple[int, int, float, float]
"""Calls, primitive calls, own and total seconds. In a :data:`Row` the first two are the other way round."""

Row = tuple[int, int, float, float, dict[Label, Caller]]
"""Primitive calls, calls, own and total seconds, callers."""

Stats = dict[Label, Row]


def stats_of(rows: list[tuple[Any, ...]]) -> Stats:
    """The dict, from what the recorder says."""
    found: Stats = {}
    for file, line, name, calls, primitive, own_ns, total_ns, callers in rows:
        by = {
            (c_file, c_line, c_name): (c_calls, c_primitive, c_own_ns / 1e9, c_total_ns / 1e9)
            for c_file, c_line, c_name, c_calls, c_primitive, c_own_ns, c_total_ns in callers
        }
        found[file, line, name] = (primitive, calls, own_ns / 1e9, total_ns / 1e9, by)
    return found


def write_pstats(stats: Stats, path: str) -> None:
    """Write it as ``cProfile`` does, whole or not at all."""

    def write() -> None:
        with whole_file(path) as file:
            file.write(marshal.dumps(stats))

    written_by("the calls", path, write)
