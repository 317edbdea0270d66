"""The monitor of a service."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union

from .._native import Service
from ..errors import StepscopeError, StepscopeWarning
from .current import CURRENT_REQUEST
from .exports import MetricsEndpoint
from .observer import Observer
from .report import ServiceReport, read_report
from .violation import Violation
from .wrap import RequestMaker, watched

if TYPE_CHECKING:
    from .asgi import ASGIMiddleware
    from .counter import RequestFactory
    from .wsgi import WSGIMiddleware

Function = TypeVar("Function", bound=Callable[..., Any])
Target = Union[str, float, int]

_alive: weakref.WeakSet[ServiceMonitor] = weakref.WeakSet()


class ServiceMonitor:
    """Counts the requests of a service and keeps them, minute by minute, in a directory.

    Any number of processes may write to one directory. ``sla`` maps routes to targets: ``"p95<100ms"``,
    ``"p99<2s, error_rate<1%"``, or seconds that no request may exceed (``2.0``); ``"*"`` is for routes that are not
    named, and a target without a route is for all. ``on_violation`` is called with a :class:`Violation`; what it raises
    is reported once and goes no further.

    Of each route and hour, the ``slowest`` requests and as many ``sampled`` ones as asked for stay whole. Routes and
    names of regions beyond ``max_routes`` and ``max_regions`` count as ``(other)``. Hours older than ``keep_days`` go,
    and the oldest ones until the rest is no larger than ``max_bytes``.

    After a request that missed a target, or took three times as long as others just did, the next slow one of that
    route is looked into: ``stacks`` keeps where its thread or task was most of the time, ``profiles`` records it with
    PyTorch's profiler into the directory's ``profiles``, five tries per hour at most; its caller waits for that.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        sla: Mapping[str, Target] | Target | None = None,
        on_violation: Callable[[Violation], object] | None = None,
        max_routes: int = 200,
        max_regions: int = 64,
        slowest: int = 5,
        sampled: int = 5,
        keep_days: float = 30,
        max_bytes: int = 2 << 30,
        stacks: bool = True,
        profiles: bool = False,
    ) -> None:
        if not isinstance(directory, (str, os.PathLike)):
            raise StepscopeError(
                f"directory is a path, not {directory!r}",
                hint='give a directory: ServiceMonitor("service"); stepscope.Monitor samples the machine',
            )
        self.directory = os.path.abspath(os.fspath(directory))
        _check(max_routes=max_routes, max_regions=max_regions, slowest=slowest, sampled=sampled, keep_days=keep_days)
        self.on_violation = on_violation
        self._hook_failed = False
        # The native service holds only a weak reference to the monitor, so neither keeps the other alive.
        itself = weakref.ref(self)
        self._metrics = MetricsEndpoint(self.directory)
        self._observer = Observer(self.directory, stacks, profiles)
        self._service = Service(
            self.directory,
            _targets(sla),
            CURRENT_REQUEST,
            _running_loop,
            lambda *missed: _tell(itself(), missed),
            _warn,
            self._observer,
            max_routes,
            max_regions,
            slowest,
            sampled,
            max(1, round(keep_days * 24)),
            max_bytes,
        )
        self._observer.service = weakref.proxy(self._service)
        # Straight to the native method: this is the service's innermost loop.
        self.request: RequestFactory = self._service.request
        _alive.add(self)
        _end_with_children(self)

    def record(
        self,
        route: str,
        latency: float,
        *,
        failed: bool = False,
        id: Any = None,
        batch: int = 0,
        tokens: int = 0,
        regions: Mapping[str, float] | None = None,
    ) -> None:
        """Counts a request that someone else measured; ``latency`` and ``regions`` are in seconds."""
        parts = list(regions.items()) if regions else None
        try:
            self._service.record(route, latency, failed, id, batch, tokens, parts)
        except (TypeError, ValueError, OverflowError) as error:
            _warn(f"a request of {route!r} is not counted: {error}")

    def watch(
        self,
        route: str | Function | None = None,
        *,
        id: Callable[..., Any] | None = None,
        batch: Callable[..., int] | None = None,
    ) -> Any:
        """A decorator: each call of the function is a request. Without a route, the function's name is one.

        A coroutine's request lasts until it is done, a generator's until it is exhausted or closed. ``id`` and
        ``batch`` get the function's arguments.
        """
        if callable(route):
            return watched(route, RequestMaker(self.request, route.__qualname__))
        return lambda function: watched(function, RequestMaker(self.request, route or function.__qualname__, id, batch))

    def worker(
        self,
        queue: str,
        *,
        id: Callable[..., Any] | None = None,
        batch: Callable[..., int] | None = None,
        enqueued_at: Callable[..., float] | None = None,
    ) -> Callable[[Function], Function]:
        """A decorator for the function that handles the messages of a queue.

        ``enqueued_at`` says when a message was put there, in seconds since 1970: the request then began there, and
        waited in a region called ``queued``.
        """
        return lambda function: watched(function, RequestMaker(self.request, queue, id, batch, enqueued_at))

    def asgi(self, app: Any, route: Callable[[Any], str | None] | None = None) -> ASGIMiddleware:
        """An ASGI application (FastAPI, Starlette) with a request around each call."""
        from .asgi import ASGIMiddleware

        return ASGIMiddleware(app, self, route)

    def wsgi(self, app: Any, route: Callable[[Any], str | None] | None = None) -> WSGIMiddleware:
        """A WSGI application (Flask) with a request around each call: ``app.wsgi_app = monitor.wsgi(app.wsgi_app)``."""
        from .wsgi import WSGIMiddleware

        return WSGIMiddleware(app, self, route)

    def django(self, get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A middleware of Django: name a function in ``MIDDLEWARE`` that returns this."""
        from .django import middleware

        return middleware(self, get_response)

    def grpc_interceptor(self) -> Any:
        """An interceptor for ``grpc.server(..., interceptors=[monitor.grpc_interceptor()])``."""
        from .rpc import interceptor

        return interceptor(self)

    def flush(self) -> None:
        """Writes what was counted so far; a thread does that once per second."""
        self._service.flush()

    close = flush

    def report(self, last: str = "1h", against: str = "before") -> ServiceReport:
        """The report about the directory, all processes together; see :func:`read_report`."""
        self.flush()
        return read_report(self.directory, last, against)

    def metrics(self, openmetrics: bool = False) -> str:
        """The counters of all processes that write to the directory, as Prometheus's text or as OpenMetrics."""
        self.flush()
        return self._metrics.text(openmetrics)

    def serve_metrics(self, port: int = 9464, host: str = "127.0.0.1") -> MetricsEndpoint:
        """Serves ``/metrics`` to Prometheus, for all processes that write to the directory.

        Every worker may call it: the first one that gets the port serves, and another one takes over when it ends. What
        is wrong with the port becomes a warning.
        """
        words = self._metrics.serve(host, port)
        if words is not None:
            _warn(f"metrics are not served: {words}")
        return self._metrics

    def __enter__(self) -> ServiceMonitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def __repr__(self) -> str:
        return f"ServiceMonitor({self.directory!r})"


def _check(**numbers: float) -> None:
    for name, value in numbers.items():
        if not isinstance(value, (int, float)) or not 0 <= value <= 100_000:
            raise StepscopeError(f"{name} is a number from 0 to 100,000, not {value!r}", hint=f"leave {name} out")


def _targets(sla: Mapping[str, Target] | Target | None) -> list[tuple[str, str]]:
    if sla is None:
        return []
    if not isinstance(sla, Mapping):
        sla = {"*": sla}
    return [(str(route), str(target)) for route, target in sla.items()]


def _running_loop() -> Any:
    events = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()


def _tell(monitor: ServiceMonitor | None, missed: tuple[Any, ...]) -> None:
    """Calls the hook; what it raises is reported once."""
    if monitor is None or monitor.on_violation is None:
        return
    try:
        monitor.on_violation(Violation(*missed))
    except Exception as error:
        if not monitor._hook_failed:
            monitor._hook_failed = True
            _warn(f"on_violation failed and the request went on: {type(error).__name__}: {error}")


def _warn(words: str) -> None:
    try:
        warnings.warn(words, StepscopeWarning, stacklevel=2)
    except StepscopeWarning:
        # Whoever turns warnings into errors wants them in tests, not in the requests of a service.
        print(f"stepscope: {words}", file=sys.stderr)


def _flush_all(*_: object) -> None:
    for monitor in list(_alive):
        monitor.flush()


def _end_with_children(monitor: ServiceMonitor) -> None:
    """Children of ``multiprocessing`` end without ``atexit``: they have a list of their own."""
    if "multiprocessing" in sys.modules:
        from multiprocessing import util

        util.Finalize(None, _flush_all, exitpriority=10)


def _after_fork_in_child() -> None:
    util = sys.modules.get("multiprocessing.util")
    for monitor in list(_alive):
        monitor._service.after_fork()
        monitor._observer.after_fork()
        if util is not None:
            # It clears its list once the child is there, and then asks those who registered.
            util.register_after_fork(monitor, lambda _: util.Finalize(None, _flush_all, exitpriority=10))


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
