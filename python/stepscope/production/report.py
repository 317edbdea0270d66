"""Reports about a directory of a service."""

from __future__ import annotations

import json
import os
from typing import Any

from .._native import NativeAnswer, service_report
from ..table import Table

#: Columns of the text.
_WIDTH = 120


class ServiceReport:
    """What a service did over a stretch of time.

    ``verdict`` is what to know first, in a sentence. ``data`` holds all of it as plain values, times in nanoseconds;
    ``print(report)`` shows the sentence and tables; :meth:`table` is one of them for pandas, polars and pyarrow.
    """

    def __init__(self, answer: NativeAnswer) -> None:
        self._answer = answer
        self.data: dict[str, Any] = json.loads(answer.json())

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __str__(self) -> str:
        return self._answer.show(_WIDTH)

    def __repr__(self) -> str:
        total = self.data["total"]
        return f"<ServiceReport {self.data['from']} to {self.data['until']}: {total['requests']:,} requests>"

    @property
    def verdict(self) -> str:
        """The first sentence: what is wrong, since when and where; ``data["verdict"]`` holds the evidence."""
        return str(self.data["verdict"]["sentence"])

    def route(self, name: str) -> dict[str, Any]:
        """One route; a KeyError if it had no requests."""
        for found in self.data["routes"]:
            if found["route"] == name:
                return dict(found)
        raise KeyError(name)

    def to_markdown(self) -> str:
        """The sentence and tables as Markdown."""
        return self._answer.markdown()

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def table(self, name: str = "routes") -> Table:
        """``routes``, ``regions``, ``targets``, ``changes``, ``points`` or ``exemplars``."""
        return Table._of(self._answer.table(name))


def read_report(directory: str | os.PathLike[str], last: str = "1h", against: str = "before") -> ServiceReport:
    """The report about a directory that monitors write to, now or earlier, in any number of processes.

    ``last`` is a length of time (``30m``, ``24h``, ``7d``), an hour (``2026-11-17T01``) or a day (``2026-11-17``), in
    UTC. It is compared with as much time right ``before``, the same time a ``day`` or ``week`` before, or ``nothing``.
    """
    return ServiceReport(service_report(os.fspath(directory), last, against))
