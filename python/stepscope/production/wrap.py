"""A request as a decorator: of functions, coroutines and generators."""

from __future__ import annotations

import functools
import inspect
import time
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from .._decorate import wrap
from .current import RequestScope

if TYPE_CHECKING:
    from .._native import ServiceRequest
    from .counter import RequestFactory

Function = TypeVar("Function", bound=Callable[..., Any])


class RequestMaker:
    """How the requests of a function are made from its arguments."""

    def __init__(
        self,
        make: RequestFactory,
        route: str,
        id: Callable[..., Any] | None = None,
        batch: Callable[..., int] | None = None,
        enqueued_at: Callable[..., float] | None = None,
    ) -> None:
        self._make = make
        self._route = route
        self._id = id
        self._batch = batch
        self._enqueued_at = enqueued_at

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ServiceRequest:
        if self._id is self._batch is self._enqueued_at is None:
            return self._make(self._route)
        put = _asked(self._enqueued_at, args, kwargs)
        waited = max(0.0, time.time() - put) if isinstance(put, (int, float)) else None
        return self._make(self._route, _asked(self._id, args, kwargs), _asked(self._batch, args, kwargs), waited)


def _asked(question: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the user's function says; a failure of it is not one of the request."""
    if question is None:
        return None
    try:
        return question(*args, **kwargs)
    except Exception:
        return None


def watched(function: Function, make: RequestMaker) -> Function:
    """The function with a request around each call of it."""
    if inspect.iscoroutinefunction(function):

        async def call_async(*args: Any, **kwargs: Any) -> Any:
            with make(args, kwargs):
                return await function(*args, **kwargs)

        wrapper: Callable[..., Any] = call_async
    elif inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, make)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, make)
    else:

        def call(*args: Any, **kwargs: Any) -> Any:
            with make(args, kwargs):
                return function(*args, **kwargs)

        wrapper = call
    return functools.update_wrapper(wrapper, function)  # type: ignore[return-value]


def _generator(function: Callable[..., Any], make: RequestMaker) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        request = make(args, kwargs).begin()
        failed = True
        try:
            result = yield from wrap(function, lambda: RequestScope(request))(*args, **kwargs)
            failed = False
            return result
        except GeneratorExit:
            # Whoever asked has enough.
            failed = False
            raise
        finally:
            request.finish(failed)

    return run


def _async_generator(function: Callable[..., Any], make: RequestMaker) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:
        request = make(args, kwargs).begin()
        failed = True
        inner = wrap(function, lambda: RequestScope(request))(*args, **kwargs)
        try:
            async for value in inner:
                yield value
            failed = False
        except GeneratorExit:
            failed = False
            raise
        finally:
            request.finish(failed)
            await inner.aclose()

    return run
