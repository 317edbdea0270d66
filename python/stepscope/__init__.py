"""Why is my ML code slow, what should I change, and did the change help?

``import stepscope as profiler`` replaces ``import torch.profiler as profiler``:

    with profiler.profile(schedule=profiler.schedule(wait=1, warmup=1, active=3)) as prof:
        for batch in loader:
            train_step(batch)
            prof.step()
    print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))

``stepscope.open("trace.json.gz")`` reads a trace, ``stepscope.diff(before, after)`` compares two,
``stepscope.PerformanceProfiler`` measures regions of a program, ``stepscope.functions`` and ``stepscope.lines`` count
every call and time every line, ``stepscope.calls`` records a timeline of every call, ``stepscope.memory.track`` says
who allocates memory, ``stepscope.ServiceMonitor`` counts the requests of a service, ``stepscope.configure`` turns
profiling on from a configuration file. Nothing else is imported until it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._native import Monitor, __version__, record_function
from .errors import StepscopeError, StepscopeWarning

if TYPE_CHECKING:
    from . import memory as memory
    from . import production as production
    from . import tensorflow as tensorflow
    from ._compare import diff
    from ._doctor import doctor
    from ._exact.call_trace import calls
    from ._exact.functions import functions
    from ._exact.lines import lines
    from ._exact.marked import profile_lines
    from ._trial.fixes.base import Effect, Fix
    from .config import configure
    from .performance import PerformanceProfiler, PerformanceRegressionDetector, Unknown, is_unknown
    from .production import ProductionProfiler, ServiceMonitor
    from .profiler import (
        ProfilerAction,
        ProfilerActivity,
        profile,
        schedule,
        supported_activities,
        tensorboard_trace_handler,
    )
    from .table import Table
    from .trace import Trace
    from .trace import open as open

_WHERE = {
    "Effect": "_trial.fixes.base",
    "Fix": "_trial.fixes.base",
    "PerformanceProfiler": "performance",
    "PerformanceRegressionDetector": "performance",
    "ProductionProfiler": "production",
    "ProfilerAction": "profiler",
    "ProfilerActivity": "profiler",
    "ServiceMonitor": "production",
    "Table": "table",
    "Trace": "trace",
    "Unknown": "performance",
    "calls": "_exact.call_trace",
    "configure": "config",
    "diff": "_compare",
    "doctor": "_doctor",
    "functions": "_exact.functions",
    "is_unknown": "performance",
    "lines": "_exact.lines",
    "memory": "",
    "open": "trace",
    "production": "",
    "profile": "profiler",
    "profile_lines": "_exact.marked",
    "schedule": "profiler",
    "supported_activities": "profiler",
    "tensorboard_trace_handler": "profiler",
    "tensorflow": "",
}

# Without `open`: `from stepscope import *` must leave Python's own alone. It is `stepscope.open` or imported by name.
__all__ = [
    "Effect",
    "Fix",
    "Monitor",
    "PerformanceProfiler",
    "PerformanceRegressionDetector",
    "ProductionProfiler",
    "ProfilerAction",
    "ProfilerActivity",
    "ServiceMonitor",
    "StepscopeError",
    "StepscopeWarning",
    "Table",
    "Trace",
    "Unknown",
    "__version__",
    "calls",
    "configure",
    "diff",
    "doctor",
    "functions",
    "is_unknown",
    "lines",
    "memory",
    "profile",
    "profile_lines",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


if not TYPE_CHECKING:  # a type checker knows the names from above, and a mistyped one is none of them

    def __getattr__(name: str) -> Any:
        module = _WHERE.get(name)
        if module is None:
            import difflib

            near = difflib.get_close_matches(name, sorted({*__all__, *_WHERE}), n=1)
            hint = f". Did you mean {near[0]!r}?" if near and not name.startswith("_") else ""
            raise AttributeError(f"module 'stepscope' has no attribute {name!r}{hint}")
        # Without a module of its own, the name is one.
        if not module:
            return importlib.import_module(f".{name}", __name__)
        value = getattr(importlib.import_module(f".{module}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_WHERE, *globals()})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext stepscope``."""
    from .integrations.ipython import load_ipython_extension as load

    load(shell)
