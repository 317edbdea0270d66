"""A region as a decorator: of functions, coroutines and generators.

A coroutine's region lasts until it is done. A generator's lasts while it runs between two values, and each such run is
an occurrence: what the caller does with a value is not the generator's time.
"""

from __future__ import annotations

import functools
import inspect
from contextlib import AbstractContextManager
from typing import Any, Callable, TypeVar

from ._native import record_function

Function = TypeVar("Function", bound=Callable[..., Any])


def wrap(function: Function, opened: Callable[[], AbstractContextManager[Any]]) -> Function:
    """The function with a new region around each run of it."""
    if inspect.iscoroutinefunction(function):
        wrapper = _coroutine(function, opened)
    elif inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, opened)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, opened)
    else:
        wrapper = _plain(function, opened)
    return functools.update_wrapper(wrapper, function)  # type: ignore[return-value]


def record_calls(name: str, function: Function) -> Function:
    """The function with a region of that name around each run of it: what ``@record_function(name)`` gives."""
    return wrap(function, functools.partial(record_function, name))


def _plain(function: Callable[..., Any], opened: Callable[[], AbstractContextManager[Any]]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with opened():
            return function(*args, **kwargs)

    return call


def _coroutine(function: Callable[..., Any], opened: Callable[[], AbstractContextManager[Any]]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with opened():
            return await function(*args, **kwargs)

    return call


def _generator(function: Callable[..., Any], opened: Callable[[], AbstractContextManager[Any]]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        resume, given = inner.send, None
        while True:
            # The end of a generator is not a failure, so it must not pass through the region as an exception.
            ended, result = False, None
            with opened():
                try:
                    value = resume(given)
                except StopIteration as end:
                    ended, result = True, end.value
            if ended:
                return result
            try:
                given = yield value
                resume = inner.send
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                resume, given = inner.throw, error

    return run


def _async_generator(
    function: Callable[..., Any], opened: Callable[[], AbstractContextManager[Any]]
) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        resume, given = inner.asend, None
        while True:
            ended = False
            with opened():
                try:
                    value = await resume(given)
                except StopAsyncIteration:
                    ended = True
            if ended:
                return
            try:
                given = yield value
                resume = inner.asend
            except GeneratorExit:
                await inner.aclose()
                raise
            except BaseException as error:
                resume, given = inner.athrow, error

    return run
