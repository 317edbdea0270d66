"""Names that carry a number: ``request_8f14e45f`` and ``request_c9f0f895`` are one kind of region.

A program that names each request by its id would make a profiler grow without end. :func:`pattern_of` gives the part of
a name that stays.
"""

from __future__ import annotations

import re

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# A run of hexadecimal digits counts as an id only if it is long and holds a digit: "feedface" is a word.
_HEX = r"(?<![0-9a-zA-Z])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}(?![0-9a-zA-Z])"
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_ID = re.compile(f"{_UUID}|{_HEX}|{_NUMBER}")
_STARS = re.compile(r"\*(?:[-_.:/ ]?\*)+")

MAX_NAME_LENGTH = 200
"""A pattern is cut to this many characters."""


def pattern_of(name: str) -> str:
    """The name with its numbers and ids as ``*``.

    >>> pattern_of("request_42"), pattern_of("lr_0.001"), pattern_of("GET /user/8f14e45fceea167a/cart")
    ('request_*', 'lr_*', 'GET /user/*/cart')
    >>> pattern_of("job 123e4567-e89b-12d3-a456-426614174000 step 7"), pattern_of("load data")
    ('job * step *', 'load data')
    """
    return _STARS.sub("*", _ID.sub("*", name))[:MAX_NAME_LENGTH]
