"""What the metrics of a region point to. Heuristics, each with a threshold that can be changed; never a proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

from .._native import threshold
from ..errors import StepscopeError
from .leaks import LeakReport
from .metrics import Metrics
from .unknown import is_unknown


def _low_gpu_percent() -> float:
    return 100.0 * threshold("low_utilization.busy_share")


@dataclass(frozen=True)
class Thresholds:
    """The values at which something is reported."""

    machine_memory_percent: float = 90.0
    process_ram_mb: float = 16_000.0
    cpu_percent: float = 95.0
    gpu_utilization_percent: float = field(default_factory=_low_gpu_percent)
    """Below it a GPU counts as under-used: 50, as ``low_utilization.busy_share`` of the findings in traces."""
    io_wait_percent: float = 20.0
    disk_busy_percent: float = 80.0
    gpu_throttled_percent: float = 5.0
    cpu_temperature_c: float = 95.0
    one_core_low: float = field(default_factory=lambda: threshold("one_core.min_busy"))
    """Processor seconds per second of wall time: between these two, one core is taken to be the bottleneck (0.8 and
    1.2), as in the findings of traces."""
    one_core_high: float = field(default_factory=lambda: threshold("one_core.max_busy"))


@dataclass(frozen=True)
class Issue:
    """One thing that the metrics point to."""

    kind: str
    title: str
    evidence: str
    advice: str
    threshold: str
    """The heuristic's threshold: the field of :class:`Thresholds` and its value."""

    def __str__(self) -> str:
        return f"{self.title}: {self.evidence}. {self.advice} (heuristic: {self.threshold})"


def diagnose(metrics: Metrics, leaks: LeakReport | None = None, thresholds: Thresholds | None = None) -> list[Issue]:
    """The issues of a region, by its metrics. What is unknown raises none."""
    limits = thresholds or Thresholds()
    issues = [*_memory(metrics, limits), *_processor(metrics, limits), *_gpu(metrics, limits), *_disk(metrics, limits)]
    for growth in leaks.growths if leaks is not None else ():
        if leaks is not None and growth.verdict == "leak":
            where = f"; it grows inside {leaks.grows_in!r}" if leaks.grows_in else ""
            issues.append(
                Issue(
                    "memory-growth",
                    "Memory grows from one occurrence to the next",
                    f"{growth}{where}",
                    "Look for lists that keep tensors with their graphs, unbounded caches and hooks that stay.",
                    "get_leak_report(): leak.confidence and leak.steadiness of `stepscope findings --list`",
                )
            )
    return issues


def with_overrides(thresholds: Thresholds | None, overrides: dict[str, float]) -> Thresholds:
    """Thresholds with some of them changed by name."""
    known = {part.name for part in fields(Thresholds)}
    for name in overrides:
        if name not in known:
            raise StepscopeError(f"there is no threshold {name!r}", hint=f"one of: {', '.join(sorted(known))}")
    return replace(thresholds or Thresholds(), **overrides)


def _limit(limits: Thresholds, name: str) -> str:
    return f"{name} = {getattr(limits, name):g}"


def _memory(metrics: Metrics, limits: Thresholds) -> Iterator[Issue]:
    machine, own = metrics.system.peak_memory_percent, metrics.memory.peak_ram_mb
    if machine > limits.machine_memory_percent:
        yield Issue(
            "high-memory", "The machine's memory is nearly full", f"it reached {machine:.1f}%",
            "Use smaller batches or fewer loader workers, or load data as it is needed.",
            _limit(limits, "machine_memory_percent"),
        )  # fmt: skip
    elif own > limits.process_ram_mb:
        yield Issue(
            "high-memory", "The process uses a lot of memory", f"its peak was {own:,.0f} MB",
            "Use smaller batches, load data as it is needed, or share it between workers.",
            _limit(limits, "process_ram_mb"),
        )  # fmt: skip


def _processor(metrics: Metrics, limits: Thresholds) -> Iterator[Issue]:
    busy, wall_s = metrics.system.cpu_percent, metrics.timing.wall_time_s
    cores = metrics.timing.cpu_time_s / wall_s if wall_s > 0 else 0.0
    if busy > limits.cpu_percent:
        yield Issue(
            "cpu-bound", "The CPU is the bottleneck",
            f"it was {busy:.1f}% busy; this process used {cores:.1f} cores",
            "Move work to the GPU, cache what is prepared repeatedly, or spread it over machines.",
            _limit(limits, "cpu_percent"),
        )  # fmt: skip
    elif (
        metrics.compute.gpu_utilization_percent < limits.gpu_utilization_percent
        and limits.one_core_low <= cores <= limits.one_core_high
    ):
        yield Issue(
            "cpu-bound", "One core is the bottleneck",
            f"the process used {cores:.2f} cores while the GPU was {metrics.compute.gpu_utilization_percent:.1f}% busy",
            "Load data in worker processes (num_workers), compile the model, or use larger batches.",
            f"{_limit(limits, 'one_core_low')}, {_limit(limits, 'one_core_high')}",
        )  # fmt: skip


def _gpu(metrics: Metrics, limits: Thresholds) -> Iterator[Issue]:
    busy = metrics.compute.gpu_utilization_percent
    if busy < limits.gpu_utilization_percent:
        waits = metrics.system.disk_io_wait_percent
        also = "" if is_unknown(waits) else f"; the CPU waited for disks {waits:.1f}% of the time"
        yield Issue(
            "gpu-under-used", "The GPU is underused", f"a kernel ran {busy:.1f}% of the time{also}",
            "Record a trace (stepscope.profile) to see what it waits for: data, the host or synchronization.",
            _limit(limits, "gpu_utilization_percent"),
        )  # fmt: skip
    slowed = metrics.system.gpu_throttled_percent
    if slowed > limits.gpu_throttled_percent:
        yield Issue(
            "throttling", "The GPU is throttled", f"heat or power slowed it {slowed:.1f}% of the time",
            "Check cooling and the power limit (nvidia-smi -q -d PERFORMANCE,POWER).",
            _limit(limits, "gpu_throttled_percent"),
        )  # fmt: skip
    heat = metrics.system.cpu_temperature_c
    if heat > limits.cpu_temperature_c:
        yield Issue(
            "throttling", "The CPU is hot", f"{heat:.0f} °C on average",
            "Check cooling: CPUs lower their clock near this temperature.",
            _limit(limits, "cpu_temperature_c"),
        )  # fmt: skip


def _disk(metrics: Metrics, limits: Thresholds) -> Iterator[Issue]:
    waits, busy = metrics.system.disk_io_wait_percent, metrics.system.disk_io_percent
    advice = "Read in larger chunks, keep data in memory or on a faster disk, or prefetch."
    if waits > limits.io_wait_percent:
        yield Issue(
            "io-bound", "Disks are the bottleneck", f"the CPU waited for them {waits:.1f}% of the time", advice,
            _limit(limits, "io_wait_percent"),
        )  # fmt: skip
    elif busy > limits.disk_busy_percent:
        yield Issue(
            "io-bound", "A disk is saturated", f"it was busy {busy:.1f}% of the time", advice,
            _limit(limits, "disk_busy_percent"),
        )  # fmt: skip
