"""The metrics of a service for Prometheus: as text, or served for all of its workers."""

from __future__ import annotations

import os
import weakref

from .._native import ServiceExporter
from ..errors import StepscopeError

#: How often a worker tries to get the port that another one has, in seconds.
RETRY = 3.0

_alive: weakref.WeakSet[MetricsEndpoint] = weakref.WeakSet()


class MetricsEndpoint:
    """``/metrics`` of a service, for all workers that write to one directory.

    The first worker that gets the port serves for all of them. The others try again every few seconds, so that one of
    them takes over when it ends.
    """

    def __init__(self, directory: str) -> None:
        self._native = ServiceExporter(directory)
        _alive.add(self)

    @property
    def url(self) -> str | None:
        """Where this process serves; None while another one does."""
        address = self._native.serving_at()
        return None if address is None else f"http://{address}/metrics"

    def serve(self, host: str, port: int, retry: float = RETRY) -> str | None:
        """Begins to serve, or to wait for the port. What is wrong with it comes back in words."""
        if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65_535:
            raise StepscopeError(f"port is a number from 0 to 65,535, not {port!r}", hint="leave port out: 9464")
        if not isinstance(host, str):
            raise StepscopeError(f"host is a text, not {host!r}", hint='leave host out: "127.0.0.1"')
        place = f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
        try:
            self._native.serve(place, retry)
        except StepscopeError as error:
            return str(error)
        return None

    def text(self, openmetrics: bool = False) -> str:
        """All metrics as text."""
        return self._native.text(openmetrics)

    def close(self) -> None:
        """Serves no more."""
        self._native.stop()

    def __repr__(self) -> str:
        return f"MetricsEndpoint({self.url or 'waiting'})"


def _after_fork_in_child() -> None:
    for endpoint in list(_alive):
        endpoint._native.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
