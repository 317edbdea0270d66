"""memray's files, through memray itself: their layout is its own and changes with its versions."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable
from typing import Any

from .._writing import whole_file, written_by
from ..errors import StepscopeError

# Positions of a sample's amounts after its stack, as the reader has them.
_ALLOCATIONS, _ALLOCATED, _LIVE_COUNT, _PEAK_COUNT, _LIVE, _PEAK = 1, 2, 3, 4, 6, 7


def from_memray(path: str | os.PathLike[str], output: str | os.PathLike[str] | None = None) -> str:
    """Convert what ``memray run`` wrote to a file for ``stepscope memory``; returns its path."""
    path = os.fspath(path)
    target = os.fspath(output) if output is not None else os.path.splitext(path)[0] + ".mem"
    try:
        memray: Any = importlib.import_module("memray")
    except ImportError:
        raise StepscopeError(
            "memray's files can only be read with memray, which is not installed here",
            hint="install it in this environment: pip install memray",
        ) from None
    try:
        reader = memray.FileReader(path)
    except OSError as error:
        raise StepscopeError(
            f"memray cannot read {path}: {error}", hint="give a file that `memray run` wrote"
        ) from None
    with reader:
        document = _document(reader, memray)

    def write() -> None:
        with whole_file(target) as file:
            file.write(json.dumps(document).encode())

    written_by("the memory", target, write)
    return target


class _Stacks:
    """Texts, frames and stacks, each once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.frames: dict[tuple[int, int, int], int] = {}
        self.stacks: dict[tuple[int, int], int] = {}
        self.samples: dict[int, list[int]] = {}

    def add(self, trace: Iterable[tuple[str, str, int]], amounts: dict[int, int]) -> None:
        """Count amounts for a stack, innermost frame first."""
        stack = 0
        for name, file, line in reversed(list(trace)):
            words = (self.texts.setdefault(text, len(self.texts)) for text in (name, file))
            frame = self.frames.setdefault((*words, max(line, 0)), len(self.frames))  # type: ignore[arg-type]
            stack = self.stacks.setdefault((stack, frame), len(self.stacks) + 1)
        sample = self.samples.setdefault(stack, [stack, 0, 0, 0, 0, 0, 0, 0])
        for at, amount in amounts.items():
            sample[at] += amount


def _document(reader: Any, memray: Any) -> dict[str, Any]:
    meta = reader.metadata
    stacks = _Stacks()
    peak = live = 0
    for record in reader.get_high_watermark_allocation_records(merge_threads=True):
        peak += record.size
        stacks.add(record.stack_trace(), {_PEAK: record.size, _PEAK_COUNT: record.n_allocations})
    for record in reader.get_leaked_allocation_records(merge_threads=True):
        live += record.size
        stacks.add(record.stack_trace(), {_LIVE: record.size, _LIVE_COUNT: record.n_allocations})
    freeing = {memray.AllocatorType.FREE, memray.AllocatorType.MUNMAP, memray.AllocatorType.PYMALLOC_FREE}
    try:
        records = reader.get_allocation_records()
        for record in records:
            if record.allocator not in freeing:
                stacks.add(record.stack_trace(), {_ALLOCATED: record.size, _ALLOCATIONS: record.n_allocations})
    except NotImplementedError:
        # Written with --aggregate: what was freed is not in it, so that what is known is what was ever held.
        for sample in stacks.samples.values():
            sample[_ALLOCATED] = max(sample[_PEAK], sample[_LIVE])
            sample[_ALLOCATIONS] = max(sample[_PEAK_COUNT], sample[_LIVE_COUNT])
    points = list(reader.get_memory_snapshots())
    start_ms = points[0].time if points else 0
    curve = [[(point.time - start_ms) * 1_000_000, point.heap, point.rss] for point in points]
    highest = max(curve, key=lambda point: point[1], default=[0, 0, 0])
    return {
        "stepscope_memory": 1,
        "sample_bytes": 0,
        "duration_ns": int((meta.end_time - meta.start_time).total_seconds() * 1e9),
        "peak_bytes": peak,
        "peak_at_ns": highest[0],
        "end_bytes": live,
        "earlier_at_ns": None,
        "unfinished": False,
        "texts": list(stacks.texts),
        "frames": [list(frame) for frame in stacks.frames],
        "stacks": [list(stack) for stack in stacks.stacks],
        "samples": list(stacks.samples.values()),
        "curve": curve,
        "lines": [],
    }
