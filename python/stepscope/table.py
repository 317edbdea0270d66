"""Rows that an analysis found: for people in a terminal or a notebook, and as Arrow for pandas, polars and pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from ._html_table import html_table
from ._native import NativeTable
from ._units import human

Row = Mapping[str, Any]

_SHOWN_ROWS = 20
_SHOWN_WIDTH = 60
_READ_ROWS = 4096


class _NativeRows(Sequence[Row]):
    """Rows of a table that Rust holds, read when someone looks at them; those looked at last are kept."""

    def __init__(self, native: NativeTable) -> None:
        self.native = native
        self._first = 0
        self._read: list[Row] = []

    def __len__(self) -> int:
        return len(self.native)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> _NativeRows: ...
    def __getitem__(self, index: int | slice) -> Row | _NativeRows:
        if isinstance(index, slice):
            wanted = range(*index.indices(len(self)))
            return _NativeRows(self.native.pick(max(wanted.start, 0), wanted.step, len(wanted)))
        at = range(len(self))[index]
        if not 0 <= at - self._first < len(self._read):
            self._first = at - at % _READ_ROWS
            self._read = json.loads(self.native.rows(self._first, self._first + _READ_ROWS))
        return self._read[at - self._first]


class Table(Sequence[Row]):
    """A list of named rows, for ``pyarrow.table(table)``, ``table.to_polars()`` and ``table.to_pandas()``.

    Nested values (a call stack, the links of a finding) are lists and structs there. A table of a trace has the same
    column types there whatever the trace, also where it has no rows.

    >>> table = Table([{"name": "aten::mm", "calls": 3, "device_self_ns": 1500}])
    >>> table.columns
    ['name', 'calls', 'device_self_ns']
    >>> table.column("calls")
    [3]
    >>> print(table)
    name      calls  device_self
    aten::mm      3     1.500 µs
    """

    def __init__(self, rows: Sequence[Row], definitions: Mapping[str, str] | None = None) -> None:
        self._rows: Sequence[Row] = rows if isinstance(rows, _NativeRows) else list(rows)
        self._definitions = dict(definitions or {})

    @staticmethod
    def _of(native: NativeTable) -> Table:
        return Table(_NativeRows(native), native.definitions)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        if isinstance(self._rows, _NativeRows):
            return self._rows.native.column_names
        names: dict[str, None] = {}
        for row in self._rows[:1000]:
            names.update(dict.fromkeys(row))
        return list(names)

    @property
    def definitions(self) -> dict[str, str]:
        """What the numbers mean, by column, where it is known."""
        return dict(self._definitions)

    def column(self, name: str) -> list[Any]:
        """One column; ``None`` where a row lacks it."""
        if self.columns and name not in self.columns and not any(name in row for row in self._rows):
            raise KeyError(f"there is no column {name!r}; columns lists them")
        return [row.get(name) for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Table: ...
    def __getitem__(self, index: int | slice) -> Row | Table:
        if isinstance(index, slice):
            return Table(self._rows[index], self._definitions)
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if isinstance(self._rows, _NativeRows):
            return self._rows.native.__arrow_c_stream__(requested_schema)
        import pyarrow

        return pyarrow.Table.from_pylist([dict(row) for row in self._rows]).__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``. Columns of a trace's tables keep their Arrow types, so that integers stay integers
        where some are missing; that needs pyarrow, without which pandas chooses types of its own. Texts that repeat
        (the names of events) are categories."""
        import pandas

        try:
            import pyarrow
        except ImportError:
            pyarrow = None
        if pyarrow is None or not isinstance(self._rows, _NativeRows):
            return pandas.DataFrame(list(self._rows), columns=self.columns)

        def kept(kind: Any) -> Any:
            return None if pyarrow.types.is_dictionary(kind) else pandas.ArrowDtype(kind)

        return pyarrow.table(self).to_pandas(types_mapper=kept)

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``."""
        import polars

        # A table is a sequence too, which polars would take row by row, with types of its own choice.
        return polars.DataFrame(self._rows.native if isinstance(self._rows, _NativeRows) else list(self._rows))

    def _cells(self, most: int) -> tuple[list[str], list[bool], list[list[str]]]:
        """Headings, which columns are numbers, and the first rows as texts; columns without any value are left out."""
        rows = self._rows[:most]
        kept = [c for c in self.columns if any(row.get(c) not in (None, "", [], {}) for row in rows)]
        numeric = [all(isinstance(row.get(c), (int, float, type(None))) for row in rows) for c in kept]
        heads = [c[: -len("_ns")] if c.endswith("_ns") else c for c in kept]
        return heads, numeric, [[human(c, row.get(c), _SHOWN_WIDTH) for c in kept] for row in rows]

    def __str__(self) -> str:
        if not self._rows:
            return "no rows"
        heads, numeric, cells = self._cells(_SHOWN_ROWS)
        widths = [max(len(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
        lines = []
        for line in [heads, *cells]:
            texts = (t.rjust(w) if n else t.ljust(w) for t, w, n in zip(line, widths, numeric))
            lines.append("  ".join(texts).rstrip())
        if len(self._rows) > len(cells):
            lines.append(f"… {len(self._rows) - len(cells)} more rows")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns[:6])}{', …' if len(self.columns) > 6 else ''})"

    def _repr_html_(self) -> str:
        if not self._rows:
            return "<p>no rows</p>"
        heads, numeric, cells = self._cells(_SHOWN_ROWS)
        more = len(self._rows) - len(cells)
        note = f"<p>… {more:,} more rows</p>" if more > 0 else ""
        return html_table(heads, numeric, cells) + note
