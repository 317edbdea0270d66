"""Magics for IPython and Jupyter: ``%load_ext stepscope``, then ``%%stepscope``, ``%ssfunctions``, ``%sslines`` and
``%ssmem``."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._exact.functions import functions
from .._exact.lines import lines
from .._exact.memory import track
from .._launch.block_capture import BlockCapture
from ..config.settings import Settings
from ..errors import StepscopeError, StepscopeWarning
from . import _session as session

if TYPE_CHECKING:
    from typing import Callable, TypeVar

    _Same = TypeVar("_Same")

    class Magics:
        """What IPython's class looks like to a type checker that does not have it."""

        shell: Any

        def __init__(self, shell: Any) -> None: ...
        def parse_options(self, line: str, options: str, **more: Any) -> tuple[Any, str]: ...

    def magics_class(one: _Same) -> _Same: ...
    def cell_magic(one: _Same) -> _Same: ...
    def line_magic(one: _Same) -> _Same: ...
    def line_cell_magic(one: _Same) -> _Same: ...
    def magic_arguments() -> Callable[[_Same], _Same]: ...
    def argument(*names: str, **options: Any) -> Callable[[_Same], _Same]: ...
    def parse_argstring(function: Any, line: str) -> Any: ...

else:
    try:
        from IPython.core.magic import Magics, cell_magic, line_cell_magic, line_magic, magics_class
        from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
    except ImportError as reason:
        session.missing("IPython", "ipython", reason)


@magics_class
class StepscopeMagics(Magics):
    """``%%stepscope`` profiles a cell, ``%ssrun`` a statement; both show where the time went. ``%ssfunctions`` counts
    every call, ``%sslines`` times lines."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._folder: str | None = None
        self._count = 0

    @magic_arguments()
    @argument("-o", "--output", help="keep the trace in this file (.json or .json.gz)")
    @argument("-q", "--quiet", action="store_true", help="show nothing; the trace is in the variable `_stepscope`")
    @argument("--stack", action="store_true", help="record the Python stack of each operator of PyTorch")
    @argument("--no-shapes", action="store_true", help="leave out the shapes of PyTorch's operators")
    @argument("--no-memory", action="store_true", help="leave out PyTorch's allocations")
    @argument("--no-monitor", action="store_true", help="leave out the counters of the machine")
    @cell_magic
    def stepscope(self, line: str, cell: str) -> Any:
        """Run this cell, record it, and show where its time went.

        The cell's variables and output are as without us. The trace is in ``_stepscope`` afterwards::

            %%stepscope --stack -o cell.json.gz
            model(batch).sum().backward()
        """
        options = parse_argstring(self.stepscope, line)
        settings = Settings(
            record_shapes=not options.no_shapes,
            profile_memory=not options.no_memory,
            with_stack=options.stack,
            monitor=not options.no_monitor,
        )
        return self._show(cell, settings, options.output, options.quiet)

    @line_magic
    def ssrun(self, line: str) -> Any:
        """Run one statement, record it, and show where its time went: ``%ssrun train(epochs=1)``."""
        return self._show(line, Settings(record_shapes=True, profile_memory=True), None, False)

    @line_cell_magic
    def ssfunctions(self, line: str, cell: str | None = None) -> None:
        """Count every call of a statement or a cell, as ``%prun`` does: ``%ssfunctions -s time -l 20 train(epochs=1)``.

        ``-s KEY`` sorts by ``cumulative`` (the default), ``time``, ``calls`` or ``name``, ``-l N`` shows N rows, ``-o
        FILE`` writes a file for ``pstats``. The result is in ``_stepscope``.
        """
        options, statement = self.parse_options(line, "s:l:o:", posix=False, strict=False)
        calls = functions()
        self._run_within(calls, statement if cell is None else cell)
        calls.print_stats(options.get("s", "cumulative"), int(options.get("l", 0)) or None)
        if "o" in options:
            calls.save(options["o"])

    @line_cell_magic
    def sslines(self, line: str, cell: str | None = None) -> None:
        """Time the lines of functions while a statement or a cell runs, as ``%lprun`` does:
        ``%sslines -f train_step -f Model.forward train(epochs=1)``.

        ``-f NAME`` names a function, a method or a class, ``-o FILE`` writes a file for ``line_profiler``. The result
        is in ``_stepscope``.
        """
        options, statement = self.parse_options(line, "f:o:", list_all=True, posix=False, strict=False)
        if not options.get("f"):
            raise StepscopeError("no function is named", hint="name one: %sslines -f train_step train(epochs=1)")
        timed = lines(*(eval(name, self.shell.user_ns) for name in options["f"]))
        self._run_within(timed, statement if cell is None else cell)
        timed.print_stats()
        for path in options.get("o", []):
            timed.save(path)

    @line_cell_magic
    def ssmem(self, line: str, cell: str | None = None) -> None:
        """Track who allocates memory while a statement or a cell runs: ``%ssmem -f load load("data")``.

        ``-f NAME`` prints what each line of a function added, as ``%mprun`` does, ``-s`` samples one allocation per 32
        KiB on average instead of all, ``-o FILE`` writes a file for ``stepscope memory``. The result is in
        ``_stepscope``.
        """
        options, statement = self.parse_options(line, "f:so:", list_all=True, posix=False, strict=False)
        memory = track(exact="s" not in options)
        for name in options.get("f", []):
            memory.add(eval(name, self.shell.user_ns))
        self._run_within(memory, statement if cell is None else cell)
        if "f" in options:
            memory.print_lines()
        print(memory)
        for path in options.get("o", []):
            memory.save(path)

    def _run_within(self, measured: functions | lines | track, text: str) -> None:
        """Run what the user typed, and nothing of IPython's, while calls are counted or lines timed."""
        code = compile(self.shell.transform_cell(text), "<ipython-input-stepscope>", "exec")
        self.shell.user_ns["_stepscope"] = measured
        with measured:
            exec(code, self.shell.user_ns)

    def _show(self, code: str, settings: Settings, output: str | None, quiet: bool) -> Any:
        path = output or self._temporary_path()
        if not self._record(code, settings, path):
            return None
        from ..trace import open as open_trace

        try:
            trace = open_trace(path)
        except Exception as error:
            warnings.warn(f"the trace {path} cannot be shown: {error}", StepscopeWarning, stacklevel=2)
            return None
        self.shell.user_ns["_stepscope"] = trace
        return None if quiet else trace

    def _record(self, code: str, settings: Settings, path: str) -> bool:
        """Run the code with a recording around it; whether there is a trace."""
        recording = BlockCapture("this cell", settings)
        recording.start()
        try:
            # It shows exceptions and the last value itself, and knows magics and top-level await.
            self.shell.run_cell(code)
        finally:
            written = recording.stop(Path(path))
        for note in recording.notes:
            warnings.warn(note, StepscopeWarning, stacklevel=2)
        return written

    def _temporary_path(self) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="stepscope-cells-")
            weakref.finalize(self, _remove_folder, self._folder, os.getpid())
        self._count += 1
        return os.path.join(self._folder, f"cell-{self._count}.pt.trace.json.gz")


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext stepscope``."""
    shell.register_magics(StepscopeMagics)
