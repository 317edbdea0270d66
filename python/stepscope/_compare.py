"""Runs compared: did the change help, by how much, and what made the difference?

>>> import stepscope
>>> found = stepscope.diff(EXAMPLE, EXAMPLE)
>>> found.delta_ns
0
>>> found.sentence
'The same: 35.09 ms per step in both, and nothing differs.'
>>> found.rows().column("change")[:2]
['same', 'same']
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Union, overload

from ._native import NativeDiff, NativeTrace
from .errors import StepscopeError
from .table import Table
from .trace import Option, Path, Trace, _words
from .trace import open as open_trace

Recording = Union[Trace, Path]
Side = Union[Recording, Sequence[Recording]]


@overload
def diff(before: Side, after: Side, **options: Option) -> Diff: ...


@overload
def diff(before: Side, after: Side, third: Side, /, *more: Side, **options: Option) -> SideBySide: ...


# No option is called "before", which is all that the type checker minds.
def diff(before: Side, after: Side, *more: Side, **options: Option) -> Diff | SideBySide:  # type: ignore[misc]
    """Compares two sides. Each is a trace, a path, or a list of them: repeated recordings of the same program. Options
    are those of ``stepscope diff``: ``diff(a, b, filter="gemm", top=0)``. More than two are set side by side, each held
    to the first: ``diff("batch32.json", "batch64.json", "batch128.json").runs()``."""
    native = NativeDiff([_natives(side) for side in (before, after, *more)])
    return SideBySide(native, options) if more else Diff(native, options)


def _natives(side: Side) -> list[NativeTrace]:
    recordings = [side] if isinstance(side, (str, os.PathLike, Trace)) else list(side)
    if not recordings:
        raise StepscopeError("a comparison needs two runs", hint="give a trace or a path for each side")
    return [(one if isinstance(one, Trace) else open_trace(one))._native for one in recordings]


class _DiffAnswer:
    """An answer of ``stepscope diff``."""

    def __init__(self, native: NativeDiff, options: dict[str, Option]) -> None:
        self._native = native
        self._options = options
        self._answer: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The whole answer, as ``stepscope diff --format json`` gives it."""
        if self._answer is None:
            self._answer = json.loads(self._native.ask(_words(self._options)).json())
        return self._answer

    def show(self, width: int = 120) -> str:
        """What ``stepscope diff`` prints, in plain text."""
        return self._native.ask(_words(self._options)).show(width)

    def __str__(self) -> str:
        return self.show()


class SideBySide(_DiffAnswer):
    """More than two runs side by side."""

    @property
    def sentence(self) -> str:
        """Which is the fastest, and by how much."""
        return str(self.as_dict()["sentence"])

    def runs(self) -> Table:
        """Each run: its steps, samples per second, utilization, memory and energy, and whether it is faster than the
        first."""
        return self._table("runs")

    def pairs(self) -> Table:
        """Every two of them compared."""
        return self._table("pairs")

    def _table(self, key: str) -> Table:
        return Table._of(self._native.ask(_words(self._options)).table(key))

    def __repr__(self) -> str:
        return f"SideBySide({self.sentence!r})"


class Diff(_DiffAnswer):
    """Two sides compared. Its tables are those of ``stepscope diff``."""

    @property
    def verdict(self) -> str:
        """``faster``, ``slower``, ``no_difference`` or ``inconclusive``."""
        return str(self.as_dict()["judged"]["verdict"])

    @property
    def sentence(self) -> str:
        """The verdict in words, with the times and how sure it is."""
        return str(self.as_dict()["judged"]["sentence"])

    @property
    def because(self) -> str | None:
        """What made most of the difference, if there is one."""
        words: str | None = self.as_dict()["judged"]["because"]
        return words

    @property
    def delta_ns(self) -> int:
        """The mean step after less that before."""
        return int(self.as_dict()["delta_ns"])

    @property
    def ratio(self) -> float | None:
        """The step after, as a multiple of the step before: below 1 is faster."""
        ratio: float | None = self.as_dict()["judged"]["ratio"]
        return ratio

    @property
    def interval(self) -> tuple[float, float] | None:
        """From where to where the ratio may lie, with 95% confidence."""
        judged = self.as_dict()["judged"]
        return None if judged["low"] is None or judged["high"] is None else (judged["low"], judged["high"])

    def causes(self) -> Table:
        """The change by cause; it adds up to ``delta_ns``."""
        return self._table("causes")

    def rows(self) -> Table:
        """The change by module, operator and kernel; all of it unless ``top`` was given. It adds up to ``delta_ns``."""
        return self._table("rows")

    def metrics(self) -> Table:
        """Other metrics of both: utilization, launches, copies, memory."""
        return self._table("metrics")

    def findings(self) -> Table:
        """Findings that appeared, went away or stayed."""
        return self._table("findings")

    def _table(self, key: str) -> Table:
        return Table._of(self._native.ask(_words({"top": 0, **self._options})).table(key))

    def __repr__(self) -> str:
        return f"Diff({self.sentence!r})"
