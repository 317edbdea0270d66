"""Named regions of a program and what each of them used: time, memory, the machine, GPUs, arithmetic, energy.

>>> from stepscope import PerformanceProfiler
>>> profiler = PerformanceProfiler()
>>> with profiler.profile("training_loop"):
...     total = sum(range(1000))
>>> print(f"{profiler.get_metrics().compute.gpu_utilization_percent:.1f}")  # doctest: +SKIP
unknown
"""

from __future__ import annotations

from .breakdown import TimingBreakdown
from .compare import Comparison
from .diagnose import Issue, Thresholds
from .flops import count_jax
from .leaks import LeakReport
from .lines import LineProfile, LineStats
from .metrics import Metrics
from .profiler import PerformanceProfiler
from .region import Region
from .regression import PerformanceRegression, PerformanceRegressionDetector
from .system import SystemReport, SystemStats
from .unknown import Unknown, is_unknown

__all__ = [
    "Comparison",
    "Issue",
    "LeakReport",
    "LineProfile",
    "LineStats",
    "Metrics",
    "PerformanceProfiler",
    "PerformanceRegression",
    "PerformanceRegressionDetector",
    "Region",
    "SystemReport",
    "SystemStats",
    "Thresholds",
    "TimingBreakdown",
    "Unknown",
    "count_jax",
    "is_unknown",
]
