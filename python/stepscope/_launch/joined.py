"""The files of several processes of one run, put together."""

from __future__ import annotations

import marshal
import os
import re
import shutil
from pathlib import Path
from typing import Any

from .._exact.pstats_file import Stats


def child_files(base: str, since_s: float) -> list[Path]:
    """The files that children wrote beside ``base`` in this run, by name."""
    stem, ending = os.path.splitext(os.path.basename(base))
    of_child = re.compile(rf"{re.escape(stem)}\.(.+-)?\d+{re.escape(ending)}")
    found: list[Path] = []
    folder = Path(base).parent
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            if of_child.fullmatch(path.name) and path.stat().st_mtime >= since_s:
                found.append(path)
        except OSError:
            continue
    return sorted(found)


def add_functions(stats: Stats, paths: list[Path]) -> Stats:
    """The calls of all processes, as ``pstats.Stats.add`` adds them."""
    total = dict(stats)
    for path in paths:
        try:
            more = marshal.loads(path.read_bytes())
        except (OSError, EOFError, ValueError, TypeError):
            continue
        for label, row in more.items():
            total[label] = _sum(total[label], row) if label in total else row
    return total


def _sum(one: Any, other: Any) -> Any:
    callers = dict(one[4])
    for label, row in other[4].items():
        known = callers.get(label)
        callers[label] = tuple(a + b for a, b in zip(known, row)) if known is not None else row
    return (*(a + b for a, b in zip(one[:4], other[:4])), callers)


def append_calls(base: str, paths: list[Path]) -> None:
    """Timelines one after the other are one of several processes; what is in it is not kept twice."""
    with open(base, "ab") as out:
        for path in paths:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, out, 1 << 20)
            path.unlink()
