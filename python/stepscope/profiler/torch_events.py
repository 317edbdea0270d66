"""PyTorch's own events and averages, with the names of metrics that any version of it has used.

Nothing is copied or computed again. The objects that PyTorch returns get a class of ours that is derived from theirs
and adds the missing spellings, so ``isinstance`` and everything else stay as they were.
"""

from __future__ import annotations

from typing import Any

from .sort_keys import DEVICE_METRICS, DEVICE_WORDS, SORT_KEYS, resolve_sort_key

_derived: dict[type, type] = {}


def _has(sample: object, name: str) -> bool:
    return name in vars(sample) or hasattr(type(sample), name)


def _with_spellings(sample: Any) -> type:
    """The class of this event, with all spellings."""
    base = type(sample)
    known = _derived.get(base)
    if known is not None:
        return known
    members: dict[str, Any] = {"__module__": base.__module__, "__qualname__": base.__qualname__}
    for metric in DEVICE_METRICS:
        true_name = next((metric.format(word) for word in DEVICE_WORDS if _has(sample, metric.format(word))), None)
        if true_name is None:
            continue
        for word in DEVICE_WORDS:
            name = metric.format(word)
            # Newer versions keep `cuda_…` as a property that warns; it is a plain alias here.
            if name != true_name and (word == "cuda" or not _has(sample, name)):
                members[name] = property(_reader(true_name))
    found = type(base.__name__, (base,), members)
    _derived[base] = found
    _derived[found] = found
    return found


def _reader(name: str) -> Any:
    def read(event: Any) -> Any:
        return getattr(event, name)

    return read


def _spelled(event: Any) -> Any:
    event.__class__ = _with_spellings(event)
    return event


def _list_class(base: type) -> type:
    """The class of PyTorch's lists of events, with a ``table`` that takes all spellings."""
    known = _derived.get(base)
    if known is not None:
        return known

    def table(self: Any, sort_by: str | None = None, *args: Any, **options: Any) -> str:
        if sort_by is not None and self:
            sort_by = resolve_sort_key(sort_by, self[0], SORT_KEYS)
        return str(base.table(self, sort_by, *args, **options))  # type: ignore[attr-defined]

    def key_averages(self: Any, *args: Any, **options: Any) -> Any:
        return with_all_spellings(base.key_averages(self, *args, **options))  # type: ignore[attr-defined]

    def total_average(self: Any) -> Any:
        return _spelled(base.total_average(self))  # type: ignore[attr-defined]

    members = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "table": table,
        "key_averages": key_averages,
        "total_average": total_average,
    }
    found = type(base.__name__, (base,), members)
    _derived[base] = found
    _derived[found] = found
    return found


def with_all_spellings(events: Any) -> Any:
    """The same list of PyTorch's events, which now answers to every spelling."""
    if events is None:
        return events
    for event in events:
        _spelled(event)
    events.__class__ = _list_class(type(events))
    return events
