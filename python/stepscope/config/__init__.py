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

from .profiling import Profiling
from .settings import Settings
from .sources import configure

__all__ = ["Profiling", "Settings", "configure"]
