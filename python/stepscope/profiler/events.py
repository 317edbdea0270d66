"""Events and their averages where PyTorch did not record: the same attributes, in microseconds, as PyTorch's own.

Metrics of a device are sums over the recorded work of devices. Without PyTorch none is recorded, so they are zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Callable

from ..errors import StepscopeError
from .event_table import build_table, format_time
from .sort_keys import DEVICE_METRICS, DEVICE_WORDS, SORT_KEYS, resolve_sort_key


class Interval:
    """From when to when, in microseconds since the recording began."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """How long it took."""
        return self.end - self.start


class _EventMetrics:
    """What single events and averages share."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total: float = 0.0
    self_device_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    device_memory_usage: int = 0
    self_device_memory_usage: int = 0
    flops: int = 0
    input_shapes: Any = ""
    overload_name: str = ""
    stack: list[str]
    is_async: bool = False
    is_remote: bool = False
    is_legacy: bool = False
    is_user_annotation: bool = True
    use_device: str | None = None
    device_type: str = "CPU"
    node_id: int = -1

    @property
    def cpu_time(self) -> float:
        """Mean of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Mean of a call."""
        return self.device_time_total / self.count if self.count else 0.0


def _add_spellings() -> None:
    """Gives every metric of a device its other names, and every time a formatted twin."""

    def reader(name: str) -> property:
        return property(lambda self: getattr(self, name))

    def formatter(name: str) -> property:
        return property(lambda self: format_time(getattr(self, name)))

    for name in ("cpu_time", "cpu_time_total", "self_cpu_time_total"):
        setattr(_EventMetrics, f"{name}_str", formatter(name))
    for name in ("device_time", "device_time_total", "self_device_time_total"):
        setattr(_EventMetrics, f"{name}_str", formatter(name))
    for metric in DEVICE_METRICS:
        for word in DEVICE_WORDS[1:]:
            setattr(_EventMetrics, metric.format(word), reader(metric.format("device")))


_add_spellings()


class FunctionEvent(_EventMetrics):
    """One region, as it ran once."""

    def __init__(self, number: int, name: str, thread: int | str, start_us: float, end_us: float) -> None:
        self.id = number
        self.name = name
        self.thread = thread
        self.time_range = Interval(start_us, end_us)
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list[object] = []
        self.stack = []

    @property
    def key(self) -> str:
        """Its name."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took less the regions inside it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return f"<FunctionEvent id={self.id} name={self.name} cpu_time={format_time(self.cpu_time_total)}>"


class FunctionEventAvg(_EventMetrics):
    """All calls of one name together."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.stack = []
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> FunctionEventAvg:
        """From one row of ``stepscope ops --format json``."""
        average = cls(row["name"])
        average.count = row["calls"]
        average.cpu_time_total = row["host_total_ns"] / 1000
        average.self_cpu_time_total = row["host_self_ns"] / 1000
        average.device_time_total = row["device_total_ns"] / 1000
        average.self_device_time_total = row["device_self_ns"] / 1000
        average.cpu_memory_usage = row["host_memory_bytes"]
        average.self_cpu_memory_usage = row["host_self_memory_bytes"]
        average.device_memory_usage = row["device_memory_bytes"]
        average.self_device_memory_usage = row["device_self_memory_bytes"]
        average.flops = row["flops"]
        average.input_shapes = row["input_shapes"] or ""
        average.stack = list(row["stack"] or ())
        average.overload_name = row["overload"] or ""
        average.is_user_annotation = row["kind"] == "annotation"
        return average

    def add(self, other: _EventMetrics) -> FunctionEventAvg:
        """Counts these calls in too."""
        for name in _SUMMED_METRICS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={format_time(self.self_cpu_time_total)} "
            f"cpu_time={format_time(self.cpu_time)} count={self.count}>"
        )


_SUMMED_METRICS = (
    "count",
    "cpu_time_total",
    "self_cpu_time_total",
    "device_time_total",
    "self_device_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_memory_usage",
    "self_device_memory_usage",
    "flops",
)


def shared_name(name: str) -> str:
    """The name under which an event is averaged: steps, which are numbered, have one."""
    return "ProfilerStep*" if name.startswith("ProfilerStep#") else name


class EventList(list):  # type: ignore[type-arg]
    """Events or averages, with the table that PyTorch's users know."""

    def __init__(
        self,
        events: Iterable[FunctionEvent | FunctionEventAvg] = (),
        *,
        profile_memory: bool = False,
        with_flops: bool = False,
        averages: Callable[..., EventList] | None = None,
        singles: Callable[[], EventList] | None = None,
    ) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._averages = averages
        self._singles = singles

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Time on the host inside recorded regions, each moment of a thread once."""
        return float(sum(event.self_cpu_time_total for event in self))

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, largest ``sort_by`` first. A ``row_limit`` of -1 shows all."""
        if top_level_events_only and self._singles is not None:
            self._find_parents(self._singles())
        if sort_by is not None:
            key = resolve_sort_key(sort_by, self[0] if self else FunctionEventAvg(), SORT_KEYS)
            events = sorted(self, key=lambda event: getattr(event, key), reverse=True)
        else:
            events = list(self)
        return build_table(
            events,
            row_limit=row_limit,
            source_width=max_src_column_width,
            name_width=max_name_column_width,
            shapes_width=max_shapes_column_width,
            header=header,
            top_level_only=top_level_events_only,
            time_unit=time_unit,
            with_memory=self._profile_memory,
            with_flops=self._with_flops,
        )

    def _find_parents(self, singles: EventList) -> None:
        """Averages take the parent of the first call, as PyTorch's do."""
        parents: dict[str, FunctionEvent | None] = {}
        for event in singles:
            parents.setdefault(shared_name(event.name), event.cpu_parent)
        for average in self:
            average.cpu_parent = parents.get(average.key)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The same events by name."""
        if self._averages is None:
            raise StepscopeError("these are averages already", hint="use them as they are")
        return self._averages(group_by_input_shapes, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """Everything together."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total
