"""Requests of ASGI applications: FastAPI, Starlette and their like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from .counter import Counter

UNMATCHED = "(unmatched)"
"""The route of requests whose path leads nowhere: there is no end to such paths."""


class ASGIMiddleware:
    """An ASGI application with a request around each call over HTTP.

    ``app.add_middleware(ASGIMiddleware, monitor=monitor)`` or ``app = monitor.asgi(app)``. The route is the template
    that the router found (``/users/{id}``); ``route`` may say another, given the scope. A request failed if an
    exception left it or its status is 500 or above. The header ``X-Request-Id`` is its id.
    """

    def __init__(self, app: Any, monitor: Counter, route: Callable[[Any], str | None] | None = None) -> None:
        self.app = app
        self._monitor = monitor
        self._route = route

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        kind = scope["type"]
        if kind != "http":
            try:
                await self.app(scope, receive, send)
            finally:
                if kind == "lifespan":
                    self._monitor.flush()
            return
        status = 0

        async def watched_send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._monitor.request(UNMATCHED, _id_of(scope)) as request:
            try:
                await self.app(scope, receive, watched_send)
            finally:
                if status >= 500:
                    request.fail()
                request.set_route(self._name(scope, status))

    def _name(self, scope: Any, status: int) -> str:
        try:
            named = self._route(scope) if self._route is not None else None
            if named is not None:
                return str(named)
            path = getattr(scope.get("route"), "path", None)
            if path is not None:
                return str(path)
            # Without a router of a kind we know, the path itself; of those that lead nowhere, none.
            return UNMATCHED if status in (404, 405) else str(scope.get("path", UNMATCHED))
        except Exception:
            return UNMATCHED


def _id_of(scope: Any) -> str | None:
    for name, value in scope.get("headers", ()):
        if name == b"x-request-id":
            return str(value, "latin-1")
    return None
