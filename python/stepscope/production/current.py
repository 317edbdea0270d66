"""The request that this thread or task answers."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._native import ServiceRequest

CURRENT_REQUEST: ContextVar[ServiceRequest | None] = ContextVar("stepscope_request", default=None)
NO_REGION: AbstractContextManager[Any] = nullcontext()


def current_request() -> ServiceRequest | None:
    """The request that is answered here; None outside of one."""
    return CURRENT_REQUEST.get()


def region(name: str) -> AbstractContextManager[Any]:
    """A part of the request that is answered here: ``with region("inference"): ...``. Outside it does nothing."""
    request = CURRENT_REQUEST.get()
    return NO_REGION if request is None else request.region(name)


class RequestScope:
    """Makes a request the current one while a generator runs, and not while its caller does."""

    def __init__(self, request: ServiceRequest) -> None:
        self._request = request
        self._token: Token[ServiceRequest | None] | None = None

    def __enter__(self) -> ServiceRequest:
        self._token = CURRENT_REQUEST.set(self._request)
        return self._request

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            CURRENT_REQUEST.reset(self._token)
