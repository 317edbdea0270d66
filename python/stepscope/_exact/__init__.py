"""Every call and every line counted and timed, in the layouts of ``cProfile`` and ``line_profiler``."""

from __future__ import annotations

from .call_trace import calls
from .functions import functions
from .lines import lines
from .marked import profile_lines

__all__ = ["calls", "functions", "lines", "profile_lines"]
