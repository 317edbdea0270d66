"""Numbers as people read them: times, sizes, shares."""

from __future__ import annotations

from typing import Any

from ._native import share_text, size_text, time_text

MB = 1 << 20
"""Bytes in what ends in ``_mb``: the mebibytes that psutil's users, PyTorch and nvidia-smi mean."""


def human(column: str, value: Any, most: int = 60) -> str:
    """A value as its column's name tells to show it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        if column.endswith("_ns"):
            return time_text(value)
        if column.endswith("_bytes") or column == "bytes":
            return size_text(value)
        if column.endswith("_share") or column in ("share", "utilization"):
            return share_text(value)
        return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    if isinstance(value, list):
        text = ", ".join(human("", one, most) for one in value)
    elif isinstance(value, dict):
        text = ", ".join(f"{key}: {human(key, one, most)}" for key, one in value.items())
    else:
        text = str(value)
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"
