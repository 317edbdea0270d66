"""The options of ``stepscope run --calls``."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._native import nanoseconds
from ..errors import StepscopeError

#: Each takes a value.
OPTION_NAMES = ("--min-duration", "--max-calls", "--max-depth", "--include", "--exclude")


@dataclass
class CallOptions:
    """What of the calls is recorded."""

    min_duration: float = 0.0
    max_calls: int = 10_000_000
    max_depth: int | None = None
    include: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    #: What was typed, for the message where it does not fit.
    given: list[str] = field(default_factory=list)

    def set(self, name: str, text: str) -> None:
        """Take one option."""
        self.given.append(name)
        if name == "--min-duration":
            self.min_duration = seconds(text)
        elif name in ("--include", "--exclude"):
            names = self.include if name == "--include" else self.exclude
            names += [one for one in text.split(",") if one]
        elif not text.replace("_", "").isdecimal() or int(text) < 1:
            raise StepscopeError(
                f"{name} must be a number, 1 or more; it is {text!r}", hint=f"use for example {name} 20"
            )
        elif name == "--max-calls":
            self.max_calls = int(text)
        else:
            self.max_depth = int(text)


def seconds(text: str, option: str = "--min-duration") -> float:
    """A time with its unit, in seconds.

    >>> [seconds(text) for text in ("10us", "1.5 ms", "0s")]
    [1e-05, 0.0015, 0.0]
    """
    ns = nanoseconds(text)
    if ns is None:
        raise StepscopeError(
            f"{option} must be a time with its unit; it is {text!r}", hint=f"use for example {option} 10ms"
        )
    return ns / 1e9
