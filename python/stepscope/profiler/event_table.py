"""Events as the text table that users of PyTorch's profiler know: same columns, same order, same units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_COLUMN_WIDTH = 12
_COLUMN_GAP = "  "
_UNITS_US = {"s": 1e6, "ms": 1e3, "us": 1.0}
_FLOP_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_time(time_us: float, unit: str | None = None) -> str:
    """A time with its unit.

    >>> format_time(1234.5), format_time(0.25), format_time(1500, unit="us")
    ('1.234ms', '0.250us', '1500.000us')
    """
    if unit not in _UNITS_US:
        unit = "s" if time_us >= 1e6 else "ms" if time_us >= 1e3 else "us"
    return f"{time_us / _UNITS_US[unit]:.3f}{unit}"


def format_bytes(size: int) -> str:
    """A size with its unit, in powers of 1024.

    >>> format_bytes(512), format_bytes(-3 << 20)
    ('512 B', '-3.00 MB')
    """
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(size) >= scale:
            return f"{size / scale:.2f} {unit}"
    return f"{size} B"


def format_share(part: float, whole: float) -> str:
    """A part in percent; NaN of nothing."""
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def _fit(text: str, width: int | None) -> str:
    """Shortened at its end."""
    if width is not None and len(text) >= width - 3:
        return text[: max(width - 3, 0)] + "..."
    return text


def _fit_path(text: str, width: int) -> str:
    """Shortened at its start: the end of a path says more."""
    if len(text) <= width:
        return text
    return ("..." + text[len(text) - width + 3 :]) if width > 3 else text[len(text) - width :]


class _Column:
    """A column: its heading, its width and its cells."""

    def __init__(self, heading: str, width: int = _COLUMN_WIDTH, left: bool = False) -> None:
        self.heading = heading
        self.width = width
        self._align = "<" if left else ">"

    def cell(self, value: object) -> str:
        return f"{value!s:{self._align}{self.width}}"


def build_table(
    events: Sequence[Any],
    *,
    row_limit: int,
    source_width: int | None,
    name_width: int | None,
    shapes_width: int | None,
    header: str | None,
    top_level_only: bool,
    time_unit: str | None,
    with_memory: bool,
    with_flops: bool,
) -> str:
    """The table of events in the order given."""
    if not events:
        return ""
    self_cpu = sum(event.self_cpu_time_total for event in events)
    self_device = sum(event.self_device_time_total for event in events)
    device = (events[0].use_device or "device").upper()
    has_shapes = any(event.input_shapes for event in events)
    has_stack = any(event.stack for event in events)
    flop_unit = _flop_unit(events) if with_flops else None

    widest = max(len(str(event.key)) for event in events) + 4
    columns = [_Column("Name", widest if name_width is None else min(widest, name_width))]
    columns += [_Column(text) for text in ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg")]
    if self_device:
        columns += [_Column(f"Self {device}"), _Column(f"Self {device} %")]
        columns += [_Column(f"{device} total"), _Column(f"{device} time avg")]
    if with_memory:
        columns += [_Column("CPU Mem"), _Column("Self CPU Mem")]
        if self_device:
            columns += [_Column(f"{device} Mem"), _Column(f"Self {device} Mem")]
    columns.append(_Column("# of Calls"))
    shapes_at = source_at = 0
    if has_shapes:
        widest = max(len(str(event.input_shapes)) for event in events) + 4
        shapes_at = widest if shapes_width is None else min(widest, shapes_width)
        columns.append(_Column("Input Shapes", shapes_at))
    if has_stack:
        widest = max(len(frame) for event in events for frame in event.stack) + 4
        source_at = widest if source_width is None else min(widest, source_width)
        columns.append(_Column("Source Location", source_at, left=True))
    if flop_unit is not None:
        columns.append(_Column(f"Total {_FLOP_UNITS[flop_unit]}"))

    def line(values: Sequence[object]) -> str:
        return "".join(column.cell(value) + _COLUMN_GAP for column, value in zip(columns, values))

    def time(value_us: float) -> str:
        return format_time(value_us, time_unit)

    length = sum(column.width + len(_COLUMN_GAP) for column in columns) - len(_COLUMN_GAP)
    rule = "".join("-" * column.width + _COLUMN_GAP for column in columns)
    lines = []
    if header is not None:
        lines += ["=" * length, header]
    if top_level_only:
        lines += ["=" * length, "Only events that ran inside no other"]
    lines += [rule, line([column.heading for column in columns]), rule]

    shown = 0
    for event in events:
        if shown == row_limit:
            break
        if top_level_only and event.cpu_parent is not None:
            continue
        shown += 1
        values: list[object] = [
            _fit(str(event.key), name_width),
            format_share(event.self_cpu_time_total, self_cpu),
            time(event.self_cpu_time_total),
            format_share(event.cpu_time_total, self_cpu) if not event.is_async else 0,
            time(event.cpu_time_total),
            time(event.cpu_time),
        ]
        if self_device:
            values += [
                time(event.self_device_time_total),
                format_share(event.self_device_time_total, self_device),
                time(event.device_time_total),
                time(event.device_time),
            ]
        if with_memory:
            values += [format_bytes(event.cpu_memory_usage), format_bytes(event.self_cpu_memory_usage)]
            if self_device:
                values += [format_bytes(event.device_memory_usage), format_bytes(event.self_device_memory_usage)]
        values.append(event.count)
        if has_shapes:
            values.append(str(event.input_shapes)[:shapes_at])
        if has_stack:
            values.append(_fit_path(event.stack[0], source_at) if event.stack else "")
        if flop_unit is not None:
            values.append(f"{event.flops / 1000**flop_unit:8.3f}" if event.flops > 0 else "--")
        lines.append(line(values))
        if has_stack:
            before = [""] * (len(columns) - 1 - (flop_unit is not None))
            lines += [line([*before, _fit_path(frame, source_at), ""]) for frame in event.stack[1:]]
            lines.append(line([""] * len(columns)))

    lines += [rule, f"Self CPU time total: {time(self_cpu)}"]
    if self_device:
        lines.append(f"Self {device} time total: {time(self_device)}")
    return "\n".join(lines) + "\n"


def _flop_unit(events: Sequence[Any]) -> int | None:
    """Which power of 1000 suits the smallest count; None without any."""
    counts = [event.flops for event in events if event.flops]
    if not counts:
        return None
    return max(0, min(int(math.log10(min(counts)) / 3), len(_FLOP_UNITS) - 1))
