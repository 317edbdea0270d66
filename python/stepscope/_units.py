"""Numbers as people read them: times, sizes, shares."""

from __future__ import annotations

from typing import Any

MB = 1 << 20
"""Bytes in what ends in ``_mb``: the mebibytes that psutil's users, PyTorch and nvidia-smi mean."""

_TIMES = [(60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")]
_SIZES = [(2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")]


def _scaled(value: float, units: list[tuple[float, str]]) -> str:
    for scale, unit in units:
        if abs(value) >= scale:
            return f"{value / scale:.3g} {unit}" if abs(value) / scale < 999.5 else f"{value / scale:.0f} {unit}"
    return f"{value:.3g} {units[-1][1]}"


def time_text(ns: float) -> str:
    """Nanoseconds with the unit that suits them.

    >>> time_text(1_500_000)
    '1.5 ms'
    """
    return _scaled(ns, _TIMES)


def size_text(size_bytes: float) -> str:
    """Bytes with the unit that suits them.

    >>> size_text(3 * 1024 * 1024)
    '3 MiB'
    """
    return _scaled(size_bytes, _SIZES)


def share_text(share: float) -> str:
    """A share of one as a percentage.

    >>> share_text(0.256)
    '25.6%'
    """
    return f"{100 * share:.1f}%"


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
