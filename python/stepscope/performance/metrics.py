"""What was measured of a region: frozen dataclasses that print, compare and turn into plain dictionaries.

A value that could not be measured is :class:`~stepscope.performance.unknown.Unknown`, and :attr:`Metrics.missing` says
why. Megabytes are of 1,048,576 bytes, as in PyTorch's and NVIDIA's own reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Callable

from .._units import MB
from .text_table import aligned, number
from .unknown import Metric, Unknown, plain


@dataclass(frozen=True)
class DeviceMemory:
    """Memory of one GPU in a region."""

    peak_mb: Metric
    peak_reserved_mb: Metric
    start_mb: Metric
    end_mb: Metric
    source: str


@dataclass(frozen=True)
class MemoryMetrics:
    """Memory of this process, and of the GPUs."""

    peak_ram_mb: Metric
    """The most the process held (RSS) while the region was open."""
    start_ram_mb: Metric
    end_ram_mb: Metric
    growth_mb: Metric
    """End less start."""
    peak_gpu_mb: Metric
    """Of the GPU that held most. With PyTorch: what its tensors held."""
    peak_gpu_reserved_mb: Metric
    """What PyTorch's allocator held from the driver, tensors and cache."""
    gpus: Mapping[int, DeviceMemory] = field(default_factory=dict)
    """Each GPU by itself."""
    peak_is_high_water_mark: bool = False
    """Whether :attr:`peak_ram_mb` is the kernel's high-water mark of the process, which rose while the region was open.

    Then no peak is missed, however short. If not, the process had held as much before the region (or the system keeps
    no such mark), and the value is the highest of the samples and of the readings at both ends: a peak between them is
    missed.
    """
    peak_ram_source: str = ""
    """The same in words; empty where the peak is unknown."""


@dataclass(frozen=True)
class TimingMetrics:
    """Times of a region, in seconds."""

    wall_time_s: float
    cpu_time_s: float
    """Processor time of the whole process, all its threads, while the region was open."""
    self_time_s: float
    """Wall time less the time in which a region inside it was open."""
    total_s: float
    """Wall time of all occurrences."""
    mean_s: float
    min_s: float
    max_s: float
    p50_s: float
    p95_s: float
    gpu_time_s: Metric
    """From the region's start to its end on the current CUDA stream. Wall time does not wait for the GPU; this does."""


@dataclass(frozen=True)
class ComputeMetrics:
    """Arithmetic, and how busy the GPUs were."""

    estimated_flops: Metric
    """Floating-point operations, two for a multiply and add."""
    parameters: Metric
    """Numbers in the PyTorch parameters that operations worked on, each parameter once."""
    flops_per_param: Metric
    flops_per_second: Metric
    """By wall time, or by time on the GPU if that is longer."""
    gpu_utilization_percent: Metric
    """The share of time in which a kernel ran, mean of the GPUs that the process used."""
    gpu_utilization_by_device: Mapping[int, float] = field(default_factory=dict)
    uncounted: Mapping[str, int] = field(default_factory=dict)
    """Operations without a formula, and how often each ran; what is seen but cannot be counted has 0."""


@dataclass(frozen=True)
class SystemMetrics:
    """The machine while the region was open: means over time, unless named otherwise."""

    cpu_percent: Metric
    """Of all cores: 100 is a machine that is wholly busy."""
    peak_cpu_percent: Metric
    process_cpu_percent: Metric
    """Of this process; 100 is one core."""
    memory_percent: Metric
    peak_memory_percent: Metric
    disk_io_wait_percent: Metric
    """Time in which cores had nothing to do but wait for disks."""
    disk_io_percent: Metric
    """Time in which the busiest disk was at work."""
    disk_read_mb_per_s: Metric
    disk_write_mb_per_s: Metric
    network_receive_mb_per_s: Metric
    network_send_mb_per_s: Metric
    cpu_temperature_c: Metric
    gpu_temperature_c: Metric
    """The highest of any GPU."""
    gpu_throttled_percent: Metric
    """Time in which a GPU ran below its clock for heat or power."""
    samples: int = 0


@dataclass(frozen=True)
class EnergyMetrics:
    """Energy by the hardware's own counters, never from a nominal power."""

    total_j: Metric
    """Of the parts that were measured; :attr:`source` names them."""
    gpu_j: Metric
    cpu_j: Metric
    dram_j: Metric
    source: str
    reliable: bool
    """False below two seconds: the counters move about every 100 ms."""


@dataclass(frozen=True)
class CarbonMetrics:
    """Carbon dioxide (equivalent): measured energy times a stated intensity. An estimate by its nature."""

    grams: Metric
    intensity: Metric
    """Grams a kilowatt-hour."""
    source: str


@dataclass(frozen=True)
class Metrics:
    """All that is known of a region.

    They are of its last occurrence (``get_metrics(name)``) or of all of them (``over="all"``); ``count``,
    ``failed`` and ``timing.total_s`` to ``timing.p95_s`` are always of all.
    """

    name: str
    count: int
    failed: int
    """Occurrences that an exception ended."""
    over: str
    """``"last"`` or ``"all"``: what the other metrics are of."""
    memory: MemoryMetrics
    timing: TimingMetrics
    compute: ComputeMetrics
    system: SystemMetrics
    energy: EnergyMetrics
    carbon: CarbonMetrics
    throughput: Metric
    """Samples per second, by wall time, or by time on the GPU if that is longer."""
    samples: Metric
    items: Metric
    items_per_second: Metric
    notes: tuple[str, ...]

    @classmethod
    def of(cls, values: dict[str, Any], parts: Mapping[str, Callable[[], Any]]) -> Metrics:
        """Metrics of which each of ``parts`` is worked out when it is first asked for."""
        made = cls.__new__(cls)
        made.__dict__.update(values, _parts=parts)
        return made

    def __getattr__(self, name: str) -> Any:
        make = self.__dict__.get("_parts", {}).get(name)
        if make is None:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        self.__dict__[name] = value = make()
        return value

    def __reduce__(self) -> Any:
        return Metrics, tuple(getattr(self, part.name) for part in fields(self))

    @property
    def missing(self) -> dict[str, str]:
        """What is unknown, and why: ``{"compute.gpu_utilization_percent": "there is no GPU"}``."""
        return {name: value.reason for name, value in self.each() if isinstance(value, Unknown)}

    def each(self) -> Iterator[tuple[str, Any]]:
        """Every metric with its full name, such as ``timing.wall_time_s``."""
        for part in fields(self):
            value = getattr(self, part.name)
            if hasattr(value, "__dataclass_fields__"):
                for inner in fields(value):
                    yield f"{part.name}.{inner.name}", getattr(value, inner.name)
            else:
                yield part.name, value

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: what is unknown is ``None``, and ``missing`` says why."""
        found: dict[str, Any] = dict(_plain(self))
        found["missing"] = self.missing
        return found

    def __str__(self) -> str:
        known = [
            [name, number(value)]
            for name, value in self.each()
            if isinstance(value, (int, float)) and not isinstance(value, (bool, Unknown))
        ]
        lines = [f"region {self.name!r}, {self.over} of {self.count}", aligned(["metric", "value"], known)]
        reasons: dict[str, list[str]] = {}
        for name, reason in self.missing.items():
            reasons.setdefault(reason, []).append(name)
        lines += [f"unknown: {', '.join(names)}: {reason}" for reason, names in reasons.items()]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return plain(value)


def megabytes(size_bytes: float | None, reason: str) -> Metric:
    """Bytes as megabytes; unknown for ``reason`` if there are none."""
    return Unknown(reason) if size_bytes is None else size_bytes / MB
