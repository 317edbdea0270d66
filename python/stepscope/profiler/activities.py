"""What is recorded: work of the host, and work of the devices that PyTorch can trace."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Any, Iterable

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
        raise StepscopeError(f"{value!r} is no activity to profile.", hint=f"Known are {known}.")
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


def chosen_activities(activities: Iterable[object] | None, use_cuda: bool | None) -> set[ProfilerActivity]:
    """What the arguments of ``profile`` ask for; everything that is supported if they say nothing."""
    chosen = {as_activity(activity) for activity in activities} if activities else supported_activities()
    if use_cuda is True:
        chosen.add(ProfilerActivity.CUDA)
    elif use_cuda is False:
        chosen.discard(ProfilerActivity.CUDA)
    if not chosen:
        raise StepscopeError(
            "There is nothing to profile: no activity is left.",
            hint="Pass activities=[ProfilerActivity.CPU], or leave activities out.",
        )
    return chosen


def torch_activities(torch: Any, chosen: set[ProfilerActivity]) -> tuple[list[Any], list[ProfilerActivity]]:
    """torch's members of the same names, and those that this torch does not have."""
    known = torch.profiler.ProfilerActivity.__members__
    found = [known[activity.name] for activity in ProfilerActivity if activity in chosen and activity.name in known]
    absent = [activity for activity in ProfilerActivity if activity in chosen and activity.name not in known]
    return found, absent
