"""The request that this thread or task answers."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from .._native import ServiceRequest

ENTERED: ContextVar[ServiceRequest | None] = ContextVar("stepscope_request", default=None)


def current_request() -> ServiceRequest | None:
    """The request that is answered here; None outside of one."""
    return ENTERED.get()


def region(name: str) -> AbstractContextManager[Any]:
    """A part of the request that is answered here: ``with region("inference"): ...``. Outside it does nothing."""
    request = ENTERED.get()
    return NOTHING if request is None else request.region(name)


class _Nothing:
    """A region of no request."""

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None


NOTHING = _Nothing()


class Resumed:
    """Makes a request the current one while a generator runs, and not while its caller does."""

    def __init__(self, request: ServiceRequest) -> None:
        self._request = request
        self._token: Token[ServiceRequest | None] | None = None

    def __enter__(self) -> ServiceRequest:
        self._token = ENTERED.set(self._request)
        return self._request

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            ENTERED.reset(self._token)
