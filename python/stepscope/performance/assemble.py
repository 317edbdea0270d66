"""Makes the metrics of a region out of what was recorded of it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

from .._native import CounterStat
from .aggregate import COVERED_NS, CPU_NS, WALL_NS, Aggregate, Record, details_of
from .carbon import Intensity
from .counters import gpu_memory
from .energy import carbon_metrics, energy_metrics
from .memory import peak_of, where_the_peak_is_from
from .metrics import ComputeMetrics, DeviceMemory, EnergyMetrics, MemoryMetrics, Metrics, TimingMetrics, megabytes
from .monitor_session import MonitorSession
from .reasons import WatchSettings, why_unknown
from .resources import Resources
from .system import Reader, Why, system_metrics
from .unknown import Metric, Unknown, is_unknown

_NO_SAMPLES = "no samples were given: profile(name, samples=...) or region.add_samples(n)"
_NO_ITEMS = "no items were given: profile(name, items=...) or region.add_items(n)"
_NO_TORCH_GPU = "PyTorch has not used a GPU"


@dataclass(frozen=True)
class Settings:
    """The profiler's options that the metrics depend on."""

    watched: WatchSettings
    count_flops: bool
    carbon: bool
    intensity: Intensity | None
    pue: float


class Span(NamedTuple):
    """What the metrics are of: one occurrence, or all."""

    over: str
    wall_ns: int
    cpu_ns: int
    self_ns: int
    samples: float | None
    samples_ns: int
    items: float | None
    items_ns: int
    own_flops: int | None
    resources: Resources


def span_of_one(record: Record, resources: Resources | None) -> Span:
    """One occurrence."""
    details = details_of(record)
    wall_ns = record[WALL_NS]
    own = max(0, wall_ns - record[COVERED_NS])
    return Span(
        "last", wall_ns, record[CPU_NS], own, details.samples, wall_ns, details.items, wall_ns, details.own_flops,
        resources or Resources(),
    )  # fmt: skip


def span_of_all(aggregate: Aggregate) -> Span:
    """All occurrences so far."""
    resources = Resources()
    if aggregate.resources is not None:
        resources.merge(aggregate.resources)
    return Span(
        "all", aggregate.wall_ns, aggregate.cpu_ns, aggregate.self_ns, aggregate.samples, aggregate.samples_ns,
        aggregate.items, aggregate.items_ns, aggregate.own_flops, resources,
    )  # fmt: skip


def assemble(
    name: str,
    aggregate: Aggregate,
    span: Span,
    settings: Settings,
    watch: MonitorSession | None,
    lost: Mapping[str, str],
) -> Metrics:
    """All that is known. ``lost``: what is no longer measured, and why."""

    def why(counter: str) -> str:
        reason = span.resources.reasons.get("system")
        failure = lost.get("the machine")
        if failure:
            return f"watching failed: {failure}"
        return reason or why_unknown(counter, settings.watched, watch.made if watch is not None else None)

    resources = span.resources

    @functools.cache
    def stats() -> dict[str, CounterStat]:
        return resources.counter_stats().stats()

    @functools.cache
    def energy() -> EnergyMetrics:
        return energy_metrics(resources.counter_stats().joules(), resources.watched_ns / 1e9, why)

    timing = _timing(aggregate, span, settings)
    # Wall time ends when work has been handed to the GPU; rates by it alone would be too good to be true.
    gpu_ns = 0 if is_unknown(timing.gpu_time_s) else int(timing.gpu_time_s * 1e9)
    notes: tuple[str, ...] = ()
    if aggregate.folded_names:
        names = f"{aggregate.folded_names:,} names or more"
        notes = (f"{names} are kept as {aggregate.name!r}: count and mean_s are of all",)
    values = {
        "name": name,
        "count": aggregate.count,
        "failed": aggregate.failed,
        "over": span.over,
        "timing": timing,
        "throughput": _rate(span.samples, max(span.samples_ns, gpu_ns), _NO_SAMPLES),
        "samples": Unknown(_NO_SAMPLES) if span.samples is None else span.samples,
        "items": Unknown(_NO_ITEMS) if span.items is None else span.items,
        "items_per_second": _rate(span.items, max(span.items_ns, gpu_ns), _NO_ITEMS),
        "notes": notes,
    }
    parts: dict[str, Callable[[], Any]] = {
        "memory": lambda: _memory(resources, stats(), why),
        "compute": lambda: _compute(span, Reader(stats(), why), settings, lost, gpu_ns),
        "system": lambda: system_metrics(stats(), why),
        "energy": energy,
        "carbon": lambda: carbon_metrics(energy(), settings.carbon, settings.intensity, settings.pue),
    }
    return Metrics.of(values, parts)


def _rate(amount: float | None, wall_ns: int, reason: str) -> Metric:
    return Unknown(reason) if amount is None or wall_ns <= 0 else amount / (wall_ns / 1e9)


def _memory(resources: Resources, stats: Mapping[str, CounterStat], why: Why) -> MemoryMetrics:
    no_ram = why("process.rss_bytes")
    no_gpu = why("gpu.0.memory_used_bytes")
    start, end = resources.rss_start, resources.rss_end
    growth = end - start if start is not None and end is not None else None
    peak, samples = peak_of(resources, stats.get("process.rss_bytes"))
    gpus = resources.gpus or gpu_memory(stats)
    uses = gpus.values()
    reserved = [use.peak_reserved for use in uses if use.peak_reserved is not None]
    return MemoryMetrics(
        peak_ram_mb=megabytes(peak, no_ram),
        start_ram_mb=megabytes(start, no_ram),
        end_ram_mb=megabytes(end, no_ram),
        growth_mb=megabytes(growth, no_ram),
        peak_gpu_mb=megabytes(max((use.peak for use in uses), default=None), no_gpu),
        peak_gpu_reserved_mb=megabytes(max(reserved, default=None), _NO_TORCH_GPU),
        gpus={
            device: DeviceMemory(
                peak_mb=megabytes(use.peak, no_gpu),
                peak_reserved_mb=megabytes(use.peak_reserved, "only PyTorch's allocator reports it"),
                start_mb=megabytes(use.start, "only PyTorch's allocator reports it"),
                end_mb=megabytes(use.end, no_gpu),
                source=use.source,
            )
            for device, use in sorted(gpus.items())
        },
        peak_is_high_water_mark=bool(resources.peak_is_high_water_mark),
        peak_ram_source=where_the_peak_is_from(resources, samples),
    )


def _timing(aggregate: Aggregate, span: Span, settings: Settings) -> TimingMetrics:
    times = span.resources.gpu_times
    gpu_time: Metric
    if times is not None:
        gpu_time = times.seconds()
    elif not settings.watched.gpu:
        gpu_time = Unknown("GPUs were not watched: track_gpu is off")
    else:
        gpu_time = Unknown(span.resources.reasons.get("gpu_time", _NO_TORCH_GPU))
    return TimingMetrics(
        wall_time_s=span.wall_ns / 1e9,
        cpu_time_s=span.cpu_ns / 1e9,
        self_time_s=span.self_ns / 1e9,
        total_s=aggregate.wall_ns / 1e9,
        mean_s=aggregate.wall_ns / 1e9 / max(1, aggregate.count),
        min_s=(aggregate.min_ns or 0) / 1e9,
        max_s=aggregate.max_ns / 1e9,
        p50_s=aggregate.quantile_s(0.5),
        p95_s=aggregate.quantile_s(0.95),
        gpu_time_s=gpu_time,
    )


def _compute(span: Span, read: Reader, settings: Settings, lost: Mapping[str, str], gpu_ns: int) -> ComputeMetrics:
    resources = span.resources
    flops: Metric
    if resources.flops is not None or span.own_flops is not None:
        flops = (resources.flops or 0) + (span.own_flops or 0)
    elif not settings.count_flops:
        flops = Unknown("operations were not counted: estimate_flops is off")
    else:
        failure = lost.get("floating-point operations")
        flops = Unknown(
            f"counting failed: {failure}" if failure else resources.reasons.get("flops", "nothing was counted")
        )
    parameters: Metric
    if resources.parameters:
        parameters = resources.parameters
    else:
        parameters = Unknown(
            "no operation of PyTorch worked on a parameter" if settings.count_flops else "estimate_flops is off"
        )
    per_parameter = flops if is_unknown(flops) else parameters if is_unknown(parameters) else flops / parameters
    return ComputeMetrics(
        estimated_flops=flops,
        parameters=parameters,
        flops_per_param=per_parameter,
        flops_per_second=flops / (max(1, span.wall_ns, gpu_ns) / 1e9),
        gpu_utilization_percent=read.gpu_mean("utilization_percent"),
        gpu_utilization_by_device=read.gpu("utilization_percent", lambda stat: stat.mean),
        uncounted=dict(sorted(resources.uncounted.items())),
    )
