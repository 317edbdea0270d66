"""How many samples one step worked through, as a program says it: ``step(samples=64)``."""

from __future__ import annotations

import math
from typing import Any, Final

from .errors import StepscopeError

COUNTER: Final = "samples per step"
"""The counter that a trace holds them under, with one value inside of each step that has one."""


def checked_samples(samples: Any) -> float | None:
    """The number, or None where none was given.

    >>> checked_samples(64), checked_samples(None)
    (64.0, None)
    """
    if samples is None:
        return None
    try:
        number = float(samples)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise StepscopeError(f"samples={samples!r} is not a number of samples", hint="use for example step(samples=64)")
    return number
