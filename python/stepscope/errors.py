"""What stepscope raises and warns with."""

from __future__ import annotations


class StepscopeError(Exception):
    """Something that stepscope cannot do, and what to do about it.

    >>> error = StepscopeError("no trace here", "record one first")
    >>> print(error)
    no trace here
    hint: record one first
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class StepscopeWarning(UserWarning):
    """Something went wrong beside the program, which goes on."""
