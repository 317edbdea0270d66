"""``record_function`` as a decorator: each call is a region, of coroutines and generators too."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from ._native import record_function


def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with a region around each of its runs.

    A coroutine's region lasts until it is done, a generator's while it runs between two values: what the caller does
    in between is not its time.
    """
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with record_function(name):
                return await function(*args, **kwargs)

        return coroutine
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            inner = function(*args, **kwargs)
            resume, value = inner.send, None
            while True:
                try:
                    with record_function(name):
                        given = resume(value)
                except StopIteration as end:
                    return end.value
                try:
                    value = yield given
                    resume = inner.send
                except GeneratorExit:
                    inner.close()
                    raise
                except BaseException as error:  # passed on to the generator, as Python itself does
                    resume, value = inner.throw, error

        return generator

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with record_function(name):
            return function(*args, **kwargs)

    return plain
