"""The machine now, and the machine over the whole time that was watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Callable

from .._native import CounterStat
from .._units import MB
from .counters import gpu_numbers, gpus_in_use
from .metrics import SystemMetrics
from .text_table import aligned, number
from .unknown import Metric, Unknown, plain

Why = Callable[[str], str]
"""Gives the reason for which a counter is not known."""


@dataclass(frozen=True)
class SystemStats:
    """The machine at this moment."""

    cpu_percent: Metric
    memory_percent: Metric
    memory_used_mb: Metric
    disk_io_percent: Metric
    disk_io_wait_percent: Metric
    disk_read_mb_per_s: Metric
    disk_write_mb_per_s: Metric
    network_receive_mb_per_s: Metric
    network_send_mb_per_s: Metric
    cpu_temperature_c: Metric
    process_cpu_percent: Metric
    process_ram_mb: Metric
    gpu_utilization_percent: Metric
    gpu_memory_percent: Metric
    """Of the GPU that is fullest."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; what is unknown is ``None``."""
        return {part.name: plain(getattr(self, part.name)) for part in fields(self)}


@dataclass(frozen=True)
class SystemReport:
    """The machine over all the time in which samples were taken."""

    duration_s: float
    samples: int
    avg_cpu_percent: Metric
    peak_cpu_percent: Metric
    avg_memory_percent: Metric
    peak_memory_percent: Metric
    avg_disk_io_percent: Metric
    peak_disk_io_percent: Metric
    avg_disk_io_wait_percent: Metric
    peak_disk_io_wait_percent: Metric
    avg_disk_read_mb_per_s: Metric
    avg_disk_write_mb_per_s: Metric
    avg_network_receive_mb_per_s: Metric
    avg_network_send_mb_per_s: Metric
    avg_process_cpu_percent: Metric
    peak_process_ram_mb: Metric
    avg_cpu_temperature_c: Metric
    peak_cpu_temperature_c: Metric
    avg_gpu_utilization_percent: Metric
    peak_gpu_memory_percent: Metric
    peak_gpu_temperature_c: Metric
    monitor_cpu_s: Metric
    """Processor time that the sampling itself took."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; what is unknown is ``None``."""
        return {part.name: plain(getattr(self, part.name)) for part in fields(self)}

    def __str__(self) -> str:
        return aligned(["metric", "value"], [[part.name, number(getattr(self, part.name))] for part in fields(self)])


def stats_now(latest: Mapping[str, float], why: Why) -> SystemStats:
    """The newest values of the monitor."""

    def value(name: str, scale: float = 1.0) -> Metric:
        return latest[name] / scale if name in latest else Unknown(why(name))

    devices = gpu_numbers(latest)
    busy = [latest[name] for name in (f"gpu.{n}.utilization_percent" for n in devices) if name in latest]
    full = [
        100.0 * latest[f"gpu.{n}.memory_used_bytes"] / latest[f"gpu.{n}.memory_total_bytes"]
        for n in devices
        if latest.get(f"gpu.{n}.memory_total_bytes") and f"gpu.{n}.memory_used_bytes" in latest
    ]
    return SystemStats(
        cpu_percent=value("host.cpu_percent"),
        memory_percent=value("host.memory_percent"),
        memory_used_mb=value("host.memory_used_bytes", MB),
        disk_io_percent=value("host.disk_busy_percent"),
        disk_io_wait_percent=value("host.io_wait_percent"),
        disk_read_mb_per_s=value("host.disk_read_bytes_per_s", MB),
        disk_write_mb_per_s=value("host.disk_write_bytes_per_s", MB),
        network_receive_mb_per_s=value("host.network_receive_bytes_per_s", MB),
        network_send_mb_per_s=value("host.network_send_bytes_per_s", MB),
        cpu_temperature_c=value("host.cpu_temperature_c"),
        process_cpu_percent=value("process.cpu_percent"),
        process_ram_mb=value("process.rss_bytes", MB),
        gpu_utilization_percent=sum(busy) / len(busy) if busy else Unknown(why("gpu.0.utilization_percent")),
        gpu_memory_percent=max(full) if full else Unknown(why("gpu.0.memory_used_bytes")),
    )


class Reader:
    """Means and peaks out of counter statistics, with the reason where there are none."""

    def __init__(self, stats: Mapping[str, CounterStat], why: Why) -> None:
        self.stats = stats
        self._why = why

    def mean(self, name: str, scale: float = 1.0) -> Metric:
        """The mean of a counter over time."""
        stat = self.stats.get(name)
        return Unknown(self._why(name)) if stat is None else stat.mean / scale

    def peak(self, name: str, scale: float = 1.0) -> Metric:
        """The highest value of a counter."""
        stat = self.stats.get(name)
        return Unknown(self._why(name)) if stat is None else stat.high / scale

    def gpu(self, counter: str, pick: Callable[[CounterStat], float]) -> dict[int, float]:
        """A counter of each GPU that the process uses."""
        found: dict[int, float] = {}
        for device in gpus_in_use(self.stats):
            stat = self.stats.get(f"gpu.{device}.{counter}")
            if stat is not None:
                found[device] = pick(stat)
        return found

    def gpu_mean(self, counter: str) -> Metric:
        """The mean over time and GPUs."""
        found = self.gpu(counter, lambda stat: stat.mean)
        return sum(found.values()) / len(found) if found else Unknown(self._why(f"gpu.0.{counter}"))

    def gpu_peak(self, counter: str) -> Metric:
        """The highest of any GPU."""
        found = self.gpu(counter, lambda stat: stat.high)
        return max(found.values()) if found else Unknown(self._why(f"gpu.0.{counter}"))

    def samples(self) -> int:
        """Samples of the machine."""
        return max((stat.samples for name, stat in self.stats.items() if not name.startswith("gpu.")), default=0)


def system_metrics(stats: Mapping[str, CounterStat], why: Why) -> SystemMetrics:
    """The machine while a region was open."""
    read = Reader(stats, why)
    throttled = read.gpu_mean("throttled")
    return SystemMetrics(
        cpu_percent=read.mean("host.cpu_percent"),
        peak_cpu_percent=read.peak("host.cpu_percent"),
        process_cpu_percent=read.mean("process.cpu_percent"),
        memory_percent=read.mean("host.memory_percent"),
        peak_memory_percent=read.peak("host.memory_percent"),
        disk_io_wait_percent=read.mean("host.io_wait_percent"),
        disk_io_percent=read.mean("host.disk_busy_percent"),
        disk_read_mb_per_s=read.mean("host.disk_read_bytes_per_s", MB),
        disk_write_mb_per_s=read.mean("host.disk_write_bytes_per_s", MB),
        network_receive_mb_per_s=read.mean("host.network_receive_bytes_per_s", MB),
        network_send_mb_per_s=read.mean("host.network_send_bytes_per_s", MB),
        cpu_temperature_c=read.mean("host.cpu_temperature_c"),
        gpu_temperature_c=read.gpu_peak("temperature_c"),
        gpu_throttled_percent=throttled * 100.0,
        samples=read.samples(),
    )


def system_report(stats: Mapping[str, CounterStat], why: Why, duration_s: float, cpu_s: float | None) -> SystemReport:
    """The machine over all the time that was watched."""
    read = Reader(stats, why)
    full = [
        100.0 * read.stats[f"gpu.{n}.memory_used_bytes"].high / read.stats[f"gpu.{n}.memory_total_bytes"].high
        for n in gpu_numbers(read.stats)
        if f"gpu.{n}.memory_used_bytes" in read.stats and f"gpu.{n}.memory_total_bytes" in read.stats
    ]
    return SystemReport(
        duration_s=duration_s,
        samples=read.samples(),
        avg_cpu_percent=read.mean("host.cpu_percent"),
        peak_cpu_percent=read.peak("host.cpu_percent"),
        avg_memory_percent=read.mean("host.memory_percent"),
        peak_memory_percent=read.peak("host.memory_percent"),
        avg_disk_io_percent=read.mean("host.disk_busy_percent"),
        peak_disk_io_percent=read.peak("host.disk_busy_percent"),
        avg_disk_io_wait_percent=read.mean("host.io_wait_percent"),
        peak_disk_io_wait_percent=read.peak("host.io_wait_percent"),
        avg_disk_read_mb_per_s=read.mean("host.disk_read_bytes_per_s", MB),
        avg_disk_write_mb_per_s=read.mean("host.disk_write_bytes_per_s", MB),
        avg_network_receive_mb_per_s=read.mean("host.network_receive_bytes_per_s", MB),
        avg_network_send_mb_per_s=read.mean("host.network_send_bytes_per_s", MB),
        avg_process_cpu_percent=read.mean("process.cpu_percent"),
        peak_process_ram_mb=read.peak("process.rss_bytes", MB),
        avg_cpu_temperature_c=read.mean("host.cpu_temperature_c"),
        peak_cpu_temperature_c=read.peak("host.cpu_temperature_c"),
        avg_gpu_utilization_percent=read.gpu_mean("utilization_percent"),
        peak_gpu_memory_percent=max(full) if full else Unknown(why("gpu.0.memory_used_bytes")),
        peak_gpu_temperature_c=read.gpu_peak("temperature_c"),
        monitor_cpu_s=Unknown("nothing was sampled") if cpu_s is None else cpu_s,
    )
