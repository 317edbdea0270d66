"""Profiling from a run's own configuration file and command line.

One line in the training script reads the ``profiling`` section beside the
user's own sections; without such a section profiling is off and costs nothing.

>>> from stepscope.config import configure
>>> profiling = configure({"lr": 0.1})        # no section: off
>>> with profiling:
...     for _ in range(3):
...         profiling.step()
>>> profiling.enabled
False
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .profiling import Profiling
    from .settings import Settings
    from .sources import configure

__all__ = ["Profiling", "Settings", "configure"]

_WHERE = {"Profiling": "profiling", "Settings": "settings", "configure": "sources"}

if not TYPE_CHECKING:  # `stepscope run` needs some of the modules in here, and starts sooner without the rest

    def __getattr__(name: str) -> Any:
        if name not in _WHERE:
            raise AttributeError(f"module 'stepscope.config' has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
        globals()[name] = value
        return value
