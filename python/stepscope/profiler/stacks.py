"""Folded stacks of a trace, as flame graph tools read them."""

from __future__ import annotations

import json

from .. import _native

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

# The last blank of a line stands before the number; tools differ in what they make of others.
_BLANKS = str.maketrans(" \t\r\n", "____")


def write_folded_stacks(trace: str, path: str, whose: str) -> int:
    """Writes a line a stack that took a microsecond or more; how many those are."""
    answer = json.loads(_native.NativeTrace.open(trace).ask("stacks", [("by", whose), ("top", "0")]))
    lines = []
    for row in answer["stacks"]:
        time_us = row["value_ns"] // 1000
        if time_us > 0:
            lines.append(f"{row['stack'].translate(_BLANKS)} {time_us}\n")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return len(lines)
