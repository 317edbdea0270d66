"""Names of metrics to sort by. PyTorch renamed ``cuda_…`` to ``device_…``; both work here, in every version."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ..errors import StepscopeError

DEVICE_WORDS = ("device", "cuda", "xpu", "mtia", "hpu", "privateuse1")
"""What versions of PyTorch call a device in the names of metrics. Exactly one device is profiled at a time."""

DEVICE_METRICS = (
    "{}_time",
    "{}_time_total",
    "self_{}_time_total",
    "{}_memory_usage",
    "self_{}_memory_usage",
    "{}_time_str",
    "{}_time_total_str",
    "self_{}_time_total_str",
)
"""Metrics of a device, less its word."""

SORT_KEYS = (
    "cpu_time",
    "cpu_time_total",
    "self_cpu_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    *(
        metric.format(word)
        for word in ("device", "cuda", "xpu")
        for metric in DEVICE_METRICS
        if not metric.endswith("_str")
    ),
    "count",
    "flops",
    "key",
)
"""What tables are usually sorted by."""


def spellings(name: str) -> list[str]:
    """The name as given, then with every other word for a device.

    >>> spellings("self_cuda_time_total")[:2]
    ['self_cuda_time_total', 'self_device_time_total']
    """
    found = [name]
    parts = name.split("_")
    for place, part in enumerate(parts):
        if part in DEVICE_WORDS:
            for word in DEVICE_WORDS:
                other = "_".join([*parts[:place], word, *parts[place + 1 :]])
                if other not in found:
                    found.append(other)
    return found


def resolve_sort_key(name: str, sample: object, known: Iterable[str] = SORT_KEYS) -> str:
    """The spelling of a column that this kind of event has; an error that names the nearest one if there is none."""
    for spelling in spellings(name):
        if spelling in getattr(sample, "__dict__", {}):
            return spelling
        # Looked up on the type: old names warn when they are read from an object.
        on_type = getattr(type(sample), spelling, None)
        if on_type is not None and not callable(on_type):
            return spelling
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise StepscopeError(
        f"cannot sort by {name!r}",
        hint=f"{hint}use one of {', '.join(known)}",
    )
