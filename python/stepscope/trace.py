"""Reading a trace: what the program prints, as tables.

>>> import stepscope
>>> trace = stepscope.open(EXAMPLE)
>>> trace.steps().column("step")
[2, 3, 4]
>>> trace.ops(by="shape", top=1)[0]["name"]
'aten::copy_'
>>> [finding["rule"] for finding in trace.findings()][:1]
['launch_bound']
>>> trace.events().columns[:4]
['id', 'name', 'category', 'kind']
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Union

from ._native import NativeTrace
from .errors import StepscopeError
from .table import Table

if TYPE_CHECKING:
    from ._viewer import Viewer

Path = Union[str, "os.PathLike[str]"]
Option = Union[str, int, float, bool, None]


def open(path: Path, rank: int | None = None) -> Trace:
    """Reads a trace or a profile: a file, or the trace of ``rank`` in a folder (else the first)."""
    return Trace(NativeTrace.open(os.fspath(path), rank))


def _words(options: dict[str, Option]) -> list[tuple[str, str]]:
    """Options as a command line would have them; those that are None or False are not given."""
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    return [(name.replace("_", "-"), "" if value is True else str(value)) for name, value in given.items()]


class Trace:
    """A trace in memory. Every method gives what the command of the same name prints; options are the command's own:
    ``trace.ops(by="shape", step="3")`` is ``stepscope ops --by shape --step 3``."""

    def __init__(self, native: NativeTrace) -> None:
        self._native = native

    @property
    def path(self) -> str:
        """The file it was read from."""
        return str(self._native.path)

    def ask(self, command: str, **options: Option) -> dict[str, Any]:
        """The whole answer of a command, as its ``--format json`` gives it."""
        answer: dict[str, Any] = json.loads(self._native.ask(command, _words(options)).json())
        return answer

    def _table(self, command: str, options: dict[str, Option], key: str | None = None) -> Table:
        return Table._of(self._native.ask(command, _words(options)).table(key))

    def ops(self, **options: Option) -> Table:
        """Operators, and with ``kind="annotations"`` the program's own regions."""
        kind = options.pop("kind", "ops")
        return self._table("ops", {"top": 0, **options}, str(kind))

    def kernels(self, **options: Option) -> Table:
        """Kernels on the devices."""
        return self._table("kernels", {"top": 0, **options})

    def functions(self, **options: Option) -> Table:
        """Functions of a profile, or of the Python calls and samples in a trace."""
        key = next((key for key in ("callers", "callees") if options.get(key) is not None), "functions")
        return self._table("functions", {"top": 0, **options}, key)

    def lines(self, **options: Option) -> Table:
        """Lines of a profile that knows them, such as line_profiler's."""
        return self._table("lines", {"top": 0, **options})

    def steps(self, **options: Option) -> Table:
        """Steps with the parts of their time."""
        return self._table("steps", {"top": 0, **options})

    def modules(self, **options: Option) -> Table:
        """Calls of nn.Module, where they were recorded."""
        return self._table("modules", {"top": 0, **options})

    def memory(self, **options: Option) -> Table:
        """Operators by the memory they took; ``ask("memory")["devices"]`` has the totals and peaks."""
        return self._table("memory", {"top": 0, **options})

    def gaps(self, **options: Option) -> Table:
        """When the device had nothing to do, and why."""
        return self._table("gaps", {"top": 0, **options}, "gaps")

    def findings(self, **options: Option) -> Table:
        """What makes it slow: each with what a fix saves, the code to change and how to check it."""
        return self._table("findings", options)

    def events(self) -> Table:
        """Every event of the trace, one row each, for ``trace.events().to_polars()`` and the like. Its ``definitions``
        say what each column is."""
        return Table._of(self._native.events())

    def verdict(self) -> str:
        """What bounds the run, in a sentence; empty where nothing can be said."""
        try:
            verdict = self.ask("account").get("verdict")
        except StepscopeError:  # A profile has no account of its time.
            verdict = self.ask("summary").get("verdict")
        return str(verdict["text"]) if verdict else ""

    def summary(self, width: int = 120) -> str:
        """The screen that ``stepscope TRACE`` prints."""
        return self.show("summary", width=width)

    def show(self, question: str, *, width: int = 120, **options: Option) -> str:
        """An answer as the terminal shows it, in plain text."""
        return self._native.ask(question, _words(options)).show(width)

    def view(self, *, port: int | None = None, open_browser: bool = True) -> Viewer:
        """Shows it in the browser; the page lives as long as what is returned."""
        from ._viewer import Viewer

        return Viewer([self.path], port=port, open_browser=open_browser)

    def __repr__(self) -> str:
        return f"Trace({self.path!r})"

    def _repr_html_(self) -> str:
        from ._notebook import trace_html

        return trace_html(self)
