"""Requests of WSGI applications: Flask and its like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable

from .asgi import UNMATCHED
from .current import RequestScope

if TYPE_CHECKING:
    from .._native import ServiceRequest
    from .counter import Counter


class WSGIMiddleware:
    """A WSGI application with a request around each call, from its start until its body was sent.

    The route is Flask's rule (``/users/<id>``) where there is one; ``route`` may say another, given the environment. A
    request failed if an exception left it or its status is 500 or above. The header ``X-Request-Id`` is its id.
    """

    def __init__(self, app: Any, monitor: Counter, route: Callable[[Any], str | None] | None = None) -> None:
        self.app = app
        self._monitor = monitor
        self._route = route

    def __call__(self, environ: Any, start_response: Any) -> Any:
        request = self._monitor.request(UNMATCHED, environ.get("HTTP_X_REQUEST_ID")).begin()

        def watched_start(line: str, *rest: Any) -> Any:
            digits = line[:3]
            status = int(digits) if digits.isdigit() else 0
            if status >= 500:
                request.fail()
            # Now, because Flask forgets the rule when it is done.
            request.set_route(self._name(environ, status))
            return start_response(line, *rest)

        try:
            with RequestScope(request):
                body = self.app(environ, watched_start)
        except BaseException:
            request.set_route(self._name(environ, 500))
            request.finish(True)
            raise
        return _Body(body, request)

    def _name(self, environ: Any, status: int) -> str:
        try:
            named = self._route(environ) if self._route is not None else None
            if named is not None:
                return str(named)
            asked = environ.get("werkzeug.request")
            rule = getattr(asked, "url_rule", None)
            if rule is not None:
                return str(rule.rule)
            if asked is not None or status in (404, 405):
                return UNMATCHED
            return str(environ.get("PATH_INFO") or UNMATCHED)
        except Exception:
            return UNMATCHED


class _Body:
    """The body of an answer. Servers close it when it was sent, whether they read it to its end or not."""

    def __init__(self, body: Any, request: ServiceRequest) -> None:
        self._body = body
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._body
        except GeneratorExit:
            raise
        except BaseException:
            self._request.fail()
            raise

    def close(self) -> None:
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._request.finish()
