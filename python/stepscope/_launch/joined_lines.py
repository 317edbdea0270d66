"""The lines of several processes of one run, put together."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

from .._exact.line_text import FunctionLines
from .._exact.lprof_file import state_of


class _Plain(pickle.Unpickler):
    """Reads what holds no object of a class: anything else in the file is not ours."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def add_lines(functions: list[FunctionLines], paths: list[Path]) -> list[FunctionLines]:
    """The lines of all processes, hits and times added."""
    sums: dict[tuple[str, int, str], dict[int, tuple[int, int]]] = {}

    def add(place: tuple[str, int, str], timed: Any) -> None:
        lines = sums.setdefault(place, {})
        for line, hits, ns in timed:
            known = lines.get(line, (0, 0))
            lines[line] = (known[0] + hits, known[1] + ns)

    for one in functions:
        add((one.file, one.first_line, one.name), one.lines)
    for path in paths:
        try:
            state = _Plain(io.BytesIO(state_of(path.read_bytes()))).load()
        except (OSError, EOFError, pickle.UnpicklingError, ValueError, IndexError):
            continue
        for place, timed in state["timings"].items():
            add(place, timed)
    made = []
    for place, lines in sorted(sums.items()):
        one = FunctionLines(*place)
        one.lines.extend((line, hits, ns) for line, (hits, ns) in sorted(lines.items()))
        made.append(one)
    return made
