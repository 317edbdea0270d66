"""What a profiler does in each step, and the usual plan of it: wait, warm up, record, repeat.

The rules are those of ``torch.profiler``, so a schedule made here drives torch's profiler and the other way round.
"""

from __future__ import annotations

from enum import Enum
from typing import Callable

from ..errors import StepscopeError
from .warn import warn_user

Schedule = Callable[[int], object]


class ProfilerAction(Enum):
    """What happens during one step.

    Members equal torch's members of the same name, and hash alike, so that either can stand for the other.
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4
    """Set by newer versions of PyTorch for the rest of a cycle in which a device gave up; no schedule returns it."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ProfilerAction):
            return self is other
        if isinstance(other, Enum) and type(other).__name__ == "ProfilerAction":
            return self.name == other.name
        return NotImplemented

    def __hash__(self) -> int:
        # As Enum hashes: torch looks actions up in a dictionary.
        return hash(self.name)


def as_action(value: object) -> ProfilerAction:
    """Ours for ours or torch's action; an error for anything else.

    >>> as_action(ProfilerAction.WARMUP)
    <ProfilerAction.WARMUP: 1>
    """
    if isinstance(value, ProfilerAction):
        return value
    if isinstance(value, Enum) and type(value).__name__ == "ProfilerAction":
        found = ProfilerAction.__members__.get(value.name)
        if found is not None:
            return found
    raise StepscopeError(f"{value!r} is not a ProfilerAction", hint="use one of stepscope.ProfilerAction")


def _planned(value: object) -> ProfilerAction:
    try:
        action = as_action(value)
    except StepscopeError:
        action = ProfilerAction.DEVICE_STOPPED
    if action is not ProfilerAction.DEVICE_STOPPED:
        return action
    raise StepscopeError(
        f"the schedule returned {value!r}, which is not an action",
        hint="return ProfilerAction.NONE, WARMUP, RECORD or RECORD_AND_SAVE, or use stepscope.schedule(...)",
    )


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A plan of steps: after ``skip_first`` steps, cycles of ``wait`` idle steps, ``warmup`` steps in which the
    profiler runs and throws away what it sees, and ``active`` recorded steps. The trace is handed over at the end
    of each cycle. ``repeat`` is the number of cycles; 0 goes on to the end. With ``skip_first_wait`` other than 0
    the first cycle has no idle steps; it still counts as one with them when cycles are counted, as in torch.

    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    for name, value, least in (
        ("wait", wait, 0),
        ("warmup", warmup, 0),
        ("active", active, 1),
        ("repeat", repeat, 0),
        ("skip_first", skip_first, 0),
    ):
        if value < least:
            raise StepscopeError(
                f"a schedule cannot have {name}={value}",
                hint=f"{name} is a number of steps, {least} or more",
            )
    if warmup == 0:
        warn_user("without warm-up, the first recorded step includes the profiler's own start; use warmup=1 or more")
    length = wait + warmup + active

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise StepscopeError(f"there is no step {step}", hint="steps count from 0")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action_of


def record_always(_step: int) -> ProfilerAction:
    """What happens without a schedule: everything from start to stop is recorded."""
    return ProfilerAction.RECORD


class StepPlan:
    """A user's schedule, asked exactly once per step, whoever wants to know the answer."""

    def __init__(self, plan: Schedule) -> None:
        self._plan = plan
        self._step = 0
        self._action = _planned(plan(0))

    def __call__(self, step: int) -> ProfilerAction:
        """The action of this step. Something that is not an action counts as none and warns: training goes on."""
        if step != self._step:
            try:
                self._action = _planned(self._plan(step))
            except StepscopeError as error:
                warn_user(str(error))
                self._action = ProfilerAction.NONE
            self._step = step
        return self._action
