"""A table for a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence

_CELL = "padding:2px 8px;white-space:nowrap;font-variant-numeric:tabular-nums"


def html_table(heads: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]) -> str:
    """A table for a notebook: numbers to the right, every text escaped.

    >>> "&lt;b&gt;" in html_table(["name"], [False], [["<b>"]])
    True
    """

    def line(tag: str, texts: Sequence[str]) -> str:
        sides = ("right" if number else "left" for number in numeric)
        cells = (f'<{tag} style="{_CELL};text-align:{a}">{html.escape(t)}</{tag}>' for t, a in zip(texts, sides))
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', heads)}</thead><tbody>{body}</tbody></table>"
