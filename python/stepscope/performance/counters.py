"""Reads the monitor's counters for a stretch of time.

A rate or a share that was sampled at some moment is of the time *before* it, since the last sample. A level (memory,
temperature) holds from its sample on. Over a short region that makes a difference: the sample at its start says what
went on before the region, and must not count for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from .resources import CounterStat, GpuUse

FEW = 64
"""Up to so many samples each is weighed by itself; with more, the two ways agree."""

_LEVELS = ("host.memory_percent",)
_CUMULATIVE = "energy_j"


class MonitorLike(Protocol):
    """What is needed of ``stepscope._native.Monitor``."""

    @property
    def running(self) -> bool: ...
    @property
    def interval_s(self) -> float: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def sample_now(self) -> None: ...
    def forget_after_fork(self) -> None: ...
    def counters(self) -> list[dict[str, str]]: ...
    def missing(self) -> list[dict[str, str]]: ...
    def latest(self) -> dict[str, float]: ...
    def window(self, start_ns: int, end_ns: int) -> dict[str, dict[str, float]]: ...
    def series(
        self, name: str, start_ns: int | None = None, end_ns: int | None = None
    ) -> tuple[list[int], list[float]]: ...
    def cpu_seconds(self) -> float: ...


def is_of_the_time_before(name: str) -> bool:
    """Whether a sample of this counter is of the time since the sample before it."""
    return name.endswith(("_percent", "_per_s")) and name not in _LEVELS


class Window(NamedTuple):
    """The counters between two moments."""

    stats: dict[str, CounterStat]
    joules: dict[str, float]
    """The growth of each cumulative counter that was read at least once in between."""


def read_window(monitor: MonitorLike, start_ns: int, end_ns: int) -> Window:
    """All counters between two moments."""
    stats: dict[str, CounterStat] = {}
    joules: dict[str, float] = {}
    seconds = max(0, end_ns - start_ns) / 1e9
    for name, summary in monitor.window(start_ns, end_ns).items():
        samples = int(summary["samples"])
        if name.endswith(_CUMULATIVE):
            if samples and summary["last"] >= summary["first"]:
                joules[name] = summary["last"] - summary["first"]
        elif not is_of_the_time_before(name) or samples > FEW:
            stats[name] = CounterStat(
                summary["mean"], seconds, summary["min"], summary["max"], summary["last"], samples
            )
        elif samples:
            at_ns, values = monitor.series(name, start_ns, end_ns)
            if values:
                stats[name] = backward_stat(start_ns, at_ns, values)
    return Window(stats, joules)


def backward_stat(start_ns: int, at_ns: Sequence[int], values: Sequence[float]) -> CounterStat:
    """Each value is of the time since the one before it, or since the start.

    >>> stat = backward_stat(0, [100, 400], [10.0, 50.0])  # 10 for 100, then 50 for 300
    >>> stat.mean, stat.low, stat.high, stat.samples
    (40.0, 10.0, 50.0, 2)
    """
    weighted = 0.0
    before = start_ns
    for moment, value in zip(at_ns, values):
        weighted += value * (moment - before)
        before = moment
    length = before - start_ns
    mean = weighted / length if length > 0 else values[-1]
    return CounterStat(mean, length / 1e9, min(values), max(values), values[-1], len(values))


def gpu_numbers(names: Iterable[str]) -> list[int]:
    """The GPUs among counter names.

    >>> gpu_numbers(["gpu.1.power_w", "gpu.0.power_w", "host.load_1m", "gpu.1.energy_j"])
    [0, 1]
    """
    return sorted({int(name.split(".")[1]) for name in names if name.startswith("gpu.")})


def gpu_memory(stats: dict[str, CounterStat]) -> dict[int, GpuUse]:
    """Memory of each GPU by the driver's account: of this process where the driver tells, else of the whole device."""
    found: dict[int, GpuUse] = {}
    for device in gpu_numbers(stats):
        for counter, source in (
            ("process_memory_bytes", "NVML, this process (context, cache and tensors)"),
            ("memory_used_bytes", "NVML, all processes on the GPU"),
        ):
            stat = stats.get(f"gpu.{device}.{counter}")
            if stat is not None:
                found[device] = GpuUse(stat.high, None, None, stat.last, source)
                break
    return found


def gpus_in_use(stats: dict[str, CounterStat]) -> list[int]:
    """GPUs on which this process holds memory; all of them if the driver does not tell."""
    devices = gpu_numbers(stats)
    own = [device for device in devices if _high(stats, device) > 0]
    return own or devices


def of_gpus_in_use(joules: dict[str, float], stats: dict[str, CounterStat]) -> dict[str, float]:
    """Energy without that of GPUs which only others use."""
    used = {f"gpu.{device}" for device in gpus_in_use(stats)}
    return {
        name: value for name, value in joules.items() if not name.startswith("gpu.") or name.rsplit(".", 1)[0] in used
    }


def _high(stats: dict[str, Any], device: int) -> float:
    stat = stats.get(f"gpu.{device}.process_memory_bytes")
    return stat.high if stat is not None else 0.0
