"""Records a timeline of every call while a block runs, into a file that grows as the program goes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._current_run import current_run
from .._native import CallTracer
from .._process_name import process_name
from .._writing import cannot_write, written_by
from ..errors import StepscopeError
from .block_profiler import BlockProfiler
from .cost import trace_costs_ns
from .functions import OURS

if TYPE_CHECKING:
    from ..trace import Trace

#: A file of this many calls has about 100 MB and takes about 1 GB to look at.
MAX_CALLS = 10_000_000


class calls(BlockProfiler):
    """Records every call while a block or a function runs: a timeline, as ``viztracer`` makes.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "sorting.calls")
    >>> with calls(path) as timeline:
    ...     words = sorted(["b", "a"], key=lambda word: word.upper())
    >>> timeline.calls
    5

    The file opens as any trace: ``stepscope view PATH``, ``timeline.open()``. It is written while the program runs,
    about 8 bytes per call, so that a program that is killed leaves what it did until a second before. With
    ``timeline = calls(path)``, ``@timeline`` decorates a function, and all runs of it are in the file.

    ``min_duration`` leaves out calls that are shorter (in seconds), ``max_depth`` those that are deeper; the time is
    then their caller's. ``include`` and ``exclude`` are names as after ``--lines``: ``"train_step"``, ``"Model.*"``,
    ``"loader.py:*"``, ``"list.append"``. After ``max_calls`` recording ends, and the program goes on at its own speed.
    ``builtins=False`` leaves out C functions, which costs less.
    """

    #: It does not disturb a trace that is being recorded.
    beside_a_trace = True

    def __init__(
        self,
        path: str | os.PathLike[str] = "program.calls",
        *,
        builtins: bool = True,
        min_duration: float = 0.0,
        max_calls: int = MAX_CALLS,
        max_depth: int | None = None,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        name: str | None = None,
    ) -> None:
        super().__init__()
        if max_calls < 1 or min_duration < 0 or (max_depth is not None and max_depth < 1):
            raise StepscopeError(
                "max_calls and max_depth must be 1 or more, min_duration 0 or more",
                hint="leave them out for the defaults",
            )
        #: Where the calls are.
        self.path = os.path.abspath(os.path.expanduser(os.fspath(path)))
        self._options: dict[str, Any] = {
            "c_calls": builtins,
            "min_ns": round(min_duration * 1e9),
            "max_depth": min(max_depth or 0xFFFF_FFFF, 0xFFFF_FFFF),
            "include": [include] if isinstance(include, str) else list(include),
            "exclude": [exclude] if isinstance(exclude, str) else list(exclude),
            "hidden": OURS,
            "name": name or process_name(),
        }
        self._left = max_calls
        self._tracer: Any = None
        self._done: list[Any] = []

    def _begin(self) -> None:
        run = current_run()
        if run is not None:
            run.profile_starts(self)
        # Whoever reads the file wants to know what the calls would have taken without us.
        cost_ns = round(sum(trace_costs_ns()) / 2)
        options = {**self._options, "max_calls": max(1, self._left), "cost_ns": cost_ns}
        self._tracer = CallTracer(self.path, append=bool(self._done), **options)
        try:
            written_by("the calls", self.path, self._tracer.start)
        except BaseException:
            self._tracer = None
            raise

    def _end(self) -> None:
        tracer = self._tracer
        if tracer is None:
            return
        try:
            # Calls that still run count as ended now.
            tracer.stop()
        except OSError as error:
            raise cannot_write("the calls", self.path, error) from error
        finally:
            self._done.append(tracer)
            self._left -= tracer.counts()[1][0]
            self._tracer = None

    @property
    def running(self) -> bool:
        """Whether calls are being recorded."""
        return self._tracer is not None

    @property
    def calls(self) -> int:
        """How many calls are in the file."""
        return sum(tracer.counts()[1][0] for tracer in self._all())

    @property
    def bytes(self) -> int:
        """How many bytes were written."""
        return sum(tracer.counts()[1][1] for tracer in self._all())

    @property
    def ended_early(self) -> str | None:
        """Why recording ended before the program did: the limit of calls, or a disk that is full."""
        return next((tracer.ended_early for tracer in self._all() if tracer.ended_early), None)

    @property
    def displaced(self) -> bool:
        """Whether the program put a profile function of its own in the place of ours, so that calls are missing."""
        return any(tracer.displaced for tracer in self._all())

    def overhead_s(self) -> float:
        """About how long the recording took: calls times what one costs on this interpreter, measured now."""
        python_ns, c_ns = trace_costs_ns()
        seen = [tracer.counts()[0] for tracer in self._all()]
        return float(sum(python * python_ns + c * c_ns for python, c in seen)) / 1e9

    def open(self) -> Trace:
        """The calls as a trace."""
        if self.running:
            raise StepscopeError("calls are still being recorded", hint="leave the `with` block or call stop() first")
        from ..trace import open as open_trace

        return open_trace(self.path)

    def turn_off_in_child(self) -> None:
        if self._tracer is not None:
            self._tracer.abandon()
        self._tracer = None
        super().turn_off_in_child()

    def _all(self) -> list[Any]:
        return [*self._done, *([self._tracer] if self._tracer is not None else [])]
