"""All regions as text for a terminal, and as a JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Callable

from .._native import share_text
from .._writing import whole_file, written_by
from .aggregate import Aggregate
from .metrics import Metrics
from .text_table import aligned, number, seconds
from .unknown import Metric, is_unknown

REPORT_FORMAT = "stepscope-performance-2"


def report(aggregates: Sequence[Aggregate], metrics: Sequence[Metrics], notes: Sequence[str], most: int) -> str:
    """A table of regions, those with most own time first."""
    if not aggregates:
        return "no region has ended yet"
    whole_ns = sum(aggregate.self_ns for aggregate in aggregates) or 1
    pairs = sorted(zip(aggregates, metrics), key=lambda pair: -pair[0].self_ns)
    optional: list[tuple[str, Callable[[Metrics], Metric]]] = [
        ("throughput", lambda each: each.throughput),
        ("peak RAM MB", lambda each: each.memory.peak_ram_mb),
        ("peak GPU MB", lambda each: each.memory.peak_gpu_mb),
        ("GPU %", lambda each: each.compute.gpu_utilization_percent),
        ("FLOPs", lambda each: each.compute.estimated_flops),
        ("energy J", lambda each: each.energy.total_j),
    ]
    shown = [(name, pick) for name, pick in optional if any(not is_unknown(pick(each)) for _, each in pairs)]
    rows: list[list[str]] = [
        [
            aggregate.name,
            f"{aggregate.count:,}",
            seconds(aggregate.inclusive_ns / 1e9),
            seconds(aggregate.self_ns / 1e9),
            share_text(aggregate.self_ns / whole_ns),
            seconds(each.timing.mean_s),
            seconds(each.timing.p95_s),
            *(number(pick(each)) for _, pick in shown),
        ]
        for aggregate, each in pairs[:most]
    ]
    header = ["region", "count", "total", "own", "share", "mean", "p95", *(name for name, _ in shown)]
    lines = [aligned(header, rows)]
    if len(pairs) > most:
        lines.append(f"… and {len(pairs) - most:,} more")
    failed = sum(aggregate.failed for aggregate in aggregates)
    if failed:
        lines.append(f"{failed:,} occurrences ended with an exception")
    lines += [f"note: {note}" for note in notes]
    return "\n".join(lines)


def write_json(path: str, content: dict[str, Any]) -> None:
    """Writes a file whole or not at all."""

    def write() -> None:
        with whole_file(path) as file:
            file.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")

    written_by("the metrics", path, write)
