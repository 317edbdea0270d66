"""Requests of a running service: counted at a few microseconds each, kept in a directory, reported over any time.

>>> import stepscope
>>> monitor = stepscope.ServiceMonitor("service", sla={"/predict": "p95<100ms, error_rate<1%"})  # doctest: +SKIP
>>> with monitor.request("/predict", id="42", batch=8) as request:  # doctest: +SKIP
...     with request.region("preprocess"):
...         batch = prepare()
...     with request.region("inference"):
...         answer = model(batch)
>>> print(monitor.report(last="1h"))  # doctest: +SKIP

Once it is made, nothing of a monitor raises into the service. Memory does not grow with the number of requests.
"""

from __future__ import annotations

from .._native import LatencyHistogram
from .asgi import ASGIMiddleware
from .current import current_request, region
from .exports import MetricsEndpoint
from .monitor import ServiceMonitor
from .profiler import ProductionProfiler
from .report import ServiceReport, read_report
from .violation import Violation
from .wsgi import WSGIMiddleware

__all__ = [
    "ASGIMiddleware",
    "LatencyHistogram",
    "MetricsEndpoint",
    "ProductionProfiler",
    "ServiceMonitor",
    "ServiceReport",
    "Violation",
    "WSGIMiddleware",
    "current_request",
    "read_report",
    "region",
]
