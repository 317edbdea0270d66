"""What is recorded: work of the host, and work of the devices that PyTorch can trace."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import Enum
from typing import Any

from ..errors import StepscopeError


class ProfilerActivity(Enum):
    """A kind of work to record. torch's own activities are accepted wherever these are, by name."""

    CPU = "CPU"
    CUDA = "CUDA"
    XPU = "XPU"
    MTIA = "MTIA"
    HPU = "HPU"
    PrivateUse1 = "PrivateUse1"


def as_activity(value: object) -> ProfilerActivity:
    """Ours for ours or torch's activity.

    >>> as_activity(ProfilerActivity.CUDA)
    <ProfilerActivity.CUDA: 'CUDA'>
    """
    if isinstance(value, ProfilerActivity):
        return value
    found = ProfilerActivity.__members__.get(str(getattr(value, "name", value)))
    if found is None:
        known = ", ".join(ProfilerActivity.__members__)
        raise StepscopeError(f"{value!r} is not an activity to profile", hint=f"use one of {known}")
    return found


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded here and now. Work of a device is traced by PyTorch, so only where that is imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {ProfilerActivity.CPU}
    found = set()
    for activity in torch.profiler.supported_activities():
        ours = ProfilerActivity.__members__.get(activity.name)
        if ours is not None:
            found.add(ours)
    return found


Asked = dict[ProfilerActivity, object]
"""Activities with what newer versions of PyTorch take about them; None for nothing."""


def parse_activities(activities: Iterable[object]) -> Asked:
    """The activities of an argument, each once. An item is an activity or, as in newer versions of PyTorch, a
    dictionary of activities with lists of what to record of each."""
    asked: Asked = {}
    for item in activities:
        if isinstance(item, dict):
            asked.update((as_activity(activity), details) for activity, details in item.items())
        else:
            asked.setdefault(as_activity(item), None)
    return asked


def chosen_activities(asked: Asked | None, use_cuda: bool | None) -> set[ProfilerActivity]:
    """What the arguments of ``profile`` ask for; everything that is supported if they say nothing."""
    chosen = set(asked) if asked else supported_activities()
    if use_cuda is True:
        chosen.add(ProfilerActivity.CUDA)
    elif use_cuda is False:
        chosen.discard(ProfilerActivity.CUDA)
    if not chosen:
        raise StepscopeError(
            "there is nothing to profile: no activity is left",
            hint="pass activities=[ProfilerActivity.CPU], or leave activities out",
        )
    return chosen


def torch_activities(
    torch: Any, chosen: set[ProfilerActivity], asked: Asked | None = None
) -> tuple[list[Any], list[ProfilerActivity]]:
    """torch's members of the same names, and those that this torch does not have."""
    known = torch.profiler.ProfilerActivity.__members__
    found: list[Any] = []
    absent = []
    for activity in ProfilerActivity:
        if activity not in chosen:
            continue
        theirs = known.get(activity.name)
        details = (asked or {}).get(activity)
        if theirs is None:
            absent.append(activity)
        else:
            found.append(theirs if details is None else {theirs: details})
    return found, absent
