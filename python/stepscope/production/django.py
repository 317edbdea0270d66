"""Requests of Django."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable

from .asgi import UNMATCHED

if TYPE_CHECKING:
    from .._native import ServiceRequest
    from .counter import Counter


def middleware(monitor: Counter, get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A middleware with a request around each call; of coroutines too, which Django recognizes by their mark."""
    if inspect.iscoroutinefunction(get_response) or hasattr(get_response, "_is_coroutine"):

        async def answer_async(asked: Any) -> Any:
            with monitor.request(UNMATCHED, _id_of(asked)) as request:
                try:
                    answer = await get_response(asked)
                    _note(request, answer)
                    return answer
                finally:
                    request.set_route(_name(asked))

        return answer_async

    def answer(asked: Any) -> Any:
        with monitor.request(UNMATCHED, _id_of(asked)) as request:
            try:
                answer = get_response(asked)
                _note(request, answer)
                return answer
            finally:
                request.set_route(_name(asked))

    return answer


def _note(request: ServiceRequest, answer: Any) -> None:
    if getattr(answer, "status_code", 0) >= 500:
        request.fail()


def _name(asked: Any) -> str:
    found = getattr(asked, "resolver_match", None)
    return UNMATCHED if found is None else f"/{getattr(found, 'route', '')}"


def _id_of(asked: Any) -> Any:
    return getattr(asked, "META", {}).get("HTTP_X_REQUEST_ID")
