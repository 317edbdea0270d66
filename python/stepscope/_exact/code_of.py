"""The code objects of whatever a user calls a function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

from ..errors import StepscopeError


def code_of(thing: Any) -> list[tuple[CodeType, str]]:
    """The code of a function, a method or a decorated function, or of all methods of a class; each with its name.

    >>> [name for _, name in code_of(StepscopeError)]
    ['StepscopeError.__init__', 'StepscopeError.__str__']
    """
    found = list(_codes(thing, set()))
    if not found:
        what = getattr(thing, "__qualname__", None) or type(thing).__qualname__
        raise StepscopeError(
            f"{what} has no lines of Python", hint="give a function, a method or a class that is written in Python"
        )
    return found


def _codes(thing: Any, seen: set[int]) -> Iterator[tuple[CodeType, str]]:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, (classmethod, staticmethod)):
        yield from _codes(thing.__func__, seen)
    elif isinstance(thing, property):
        for part in (thing.fget, thing.fset, thing.fdel):
            yield from _codes(part, seen)
    elif isinstance(thing, (functools.partial, functools.partialmethod, functools.cached_property)):
        yield from _codes(getattr(thing, "func", None), seen)
    elif inspect.isclass(thing):
        for value in vars(thing).values():
            if not inspect.isclass(value):
                yield from _codes(value, seen)
    elif hasattr(thing, "__wrapped__"):
        yield from _codes(thing.__wrapped__, seen)
    else:
        code = getattr(thing, "__code__", None)
        if isinstance(code, CodeType):
            yield code, getattr(thing, "__qualname__", code.co_name)
