"""The value of what could not be measured.

A profiler that is left in a program must not break it. On a machine without a GPU the utilization of the GPU is not
known; ``None`` would be honest, but ``f"{metrics.compute.gpu_utilization_percent:.1f}"`` and
``metrics.compute.gpu_utilization_percent < 70`` would raise. ``0.0`` would work, and be a lie.

:class:`Unknown` is a float that is not a number (NaN). So:

- every comparison with ``<``, ``<=``, ``==``, ``>=``, ``>`` is false, and it is false itself;
- it prints as ``unknown`` under every format, in the width that was asked for;
- what is worked out from it is unknown too, for the same reason;
- numpy and pandas take it for their NaN;
- :attr:`Unknown.reason` is a sentence that says why.

``to_dict()`` and JSON files hold ``null`` in its place.

>>> share = Unknown("there is no GPU")
>>> f"{share:.1f}% and {share:,} and [{share:>9}]"
'unknown% and unknown and [  unknown]'
>>> share < 70, share > 70, bool(share), is_unknown(share * 100)
(False, False, False, True)
>>> share.reason
'there is no GPU'
"""

from __future__ import annotations

import re
from typing import Any, Callable, Union

_FORMAT = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>=^]))?[+\- ]?z?#?0?(?P<width>\d+)?[,_]?(?:\.\d+)?[a-zA-Z%]?", re.DOTALL
)


class Unknown(float):
    """A value that is not known, and why. See the module for how it behaves."""

    __slots__ = ("reason",)

    reason: str

    def __new__(cls, reason: str = "it was not measured") -> Unknown:
        """An unknown value; ``reason`` is a sentence without a full stop."""
        self = super().__new__(cls, "nan")
        self.reason = reason
        return self

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r})"

    def __str__(self) -> str:
        return "unknown"

    def __format__(self, spec: str) -> str:
        asked = _FORMAT.fullmatch(spec)
        if asked is None or not asked["width"]:
            return "unknown"
        align = ">" if asked["align"] in (None, "=") else asked["align"]
        return format("unknown", f"{asked['fill'] or ' '}{align}{asked['width']}")

    def __int__(self) -> int:
        raise ValueError(f"an unknown value has no whole number: {self.reason}")

    __trunc__ = __floor__ = __ceil__ = __int__

    def __round__(self, digits: Any = None) -> Any:
        return self

    def __reduce__(self) -> Any:
        return Unknown, (self.reason,)


def _stays_unknown(name: str) -> Callable[..., Unknown]:
    def operation(self: Unknown, *_others: object) -> Unknown:
        return self

    operation.__name__ = name
    return operation


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _side in (f"__{_name}__", f"__r{_name}__"):
        setattr(Unknown, _side, _stays_unknown(_side))
for _name in ("__neg__", "__pos__", "__abs__"):
    setattr(Unknown, _name, _stays_unknown(_name))


def is_unknown(value: object) -> bool:
    """Whether ``value`` could not be measured.

    >>> is_unknown(Unknown("no sensor")), is_unknown(None), is_unknown(0.0)
    (True, True, False)
    """
    return value is None or isinstance(value, Unknown)


Metric = Union[float, Unknown]
"""A number, or :class:`Unknown`."""


def plain(value: object) -> object:
    """``value`` for JSON: what is unknown becomes ``None``."""
    return None if is_unknown(value) else value


def highest(*values: Metric) -> Metric:
    """The largest of the values that are known; the first one if none is."""
    known = [value for value in values if not is_unknown(value)]
    return max(known) if known else values[0]
