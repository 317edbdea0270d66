"""Folded stacks of a trace, as flame graph tools read them."""

from __future__ import annotations

import json

from .._native import NativeTrace
from .._writing import whole_file

STACK_METRICS = {
    "self_cpu_time_total": "host",
    "self_cuda_time_total": "device",
    "self_device_time_total": "device",
    "self_xpu_time_total": "device",
    "self_mtia_time_total": "device",
    "self_hpu_time_total": "device",
    "self_privateuse1_time_total": "device",
}
"""What stacks can be weighed by, and whose time that is."""

# The last blank of a line comes before the number; tools differ in what they make of others.
_BLANKS = str.maketrans(" \t\r\n", "____")


_SAMPLED_PREFIX = "samples of thread "
"""How the first frame of a sampled stack begins: samples stand beside their thread."""


def write_folded_stacks(trace: str, path: str, whose: str, *, sampled: bool) -> int:
    """Writes one line per stack that took a microsecond or more; how many those are. Time that was both sampled and
    recorded counts once: by its samples if there are any and ``sampled`` says so."""
    answer = json.loads(NativeTrace.open(trace).ask("stacks", [("by", whose), ("top", "0")]).json())
    rows = answer["stacks"]
    of_samples = [row for row in rows if row["stack"].startswith(_SAMPLED_PREFIX)]
    if sampled and of_samples:
        rows = of_samples
    elif of_samples:
        rows = [row for row in rows if not row["stack"].startswith(_SAMPLED_PREFIX)]
    lines = []
    for row in rows:
        time_us = row["value_ns"] // 1000
        if time_us > 0:
            lines.append(f"{row['stack'].translate(_BLANKS)} {time_us}\n")
    with whole_file(path) as file:
        file.write("".join(lines).encode("utf-8"))
    return len(lines)
