"""What is needed of the machine's monitor, and what its counters say about GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from .._native import CounterStat, CounterStats
from .resources import GpuUse


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
    def add_window(self, stats: CounterStats, start_ns: int, end_ns: int) -> None: ...
    def cpu_seconds(self) -> float: ...


def gpu_numbers(names: Iterable[str]) -> list[int]:
    """The GPUs among counter names.

    >>> gpu_numbers(["gpu.1.power_w", "gpu.0.power_w", "host.load_1m", "gpu.1.energy_j"])
    [0, 1]
    """
    return sorted({int(name.split(".")[1]) for name in names if name.startswith("gpu.")})


def gpu_memory(stats: Mapping[str, CounterStat]) -> dict[int, GpuUse]:
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


def gpus_in_use(stats: Mapping[str, CounterStat]) -> list[int]:
    """GPUs on which this process holds memory; all of them if the driver does not tell."""
    devices = gpu_numbers(stats)
    own = [device for device in devices if _high(stats, device) > 0]
    return own or devices


def _high(stats: Mapping[str, Any], device: int) -> float:
    stat = stats.get(f"gpu.{device}.process_memory_bytes")
    return stat.high if stat is not None else 0.0
