"""Requests of gRPC servers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

from .wrap import RequestMaker, watched

if TYPE_CHECKING:
    from .counter import Counter

_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


def interceptor(monitor: Counter) -> Any:
    """An interceptor with a request around each call; the route is the method's full name."""
    import grpc

    class Interceptor(grpc.ServerInterceptor):  # type: ignore[misc, unused-ignore]
        """Puts requests around the handlers of a server."""

        def intercept_service(self, continuation: Any, details: Any) -> Any:
            handler = continuation(details)
            for kind in _KINDS if handler is not None else ():
                function = getattr(handler, kind)
                if function is not None:
                    make = getattr(grpc, f"{kind}_rpc_method_handler")
                    return make(
                        _around(monitor, details.method, function, kind.endswith("stream")),
                        handler.request_deserializer,
                        handler.response_serializer,
                    )
            return handler

    return Interceptor()


def _around(monitor: Counter, route: str, function: Callable[..., Any], streams: bool) -> Callable[..., Any]:
    if streams:
        # Whatever iterator a handler returns is read to its end inside the request.
        @functools.wraps(function)
        def stream(asked: Any, context: Any) -> Any:
            yield from function(asked, context)

        return watched(stream, RequestMaker(monitor.request, route))

    @functools.wraps(function)
    def answer(asked: Any, context: Any) -> Any:
        with monitor.request(route) as request:
            answered = function(asked, context)
            code = getattr(context, "code", None)
            # A handler may set a status without an exception; what is none, or OK, is fine.
            found = code() if callable(code) else None
            if found is not None and getattr(found, "name", "OK") != "OK":
                request.fail()
            return answered

    return answer
