"""What has to be done when one step's action gives way to the next one's: the rules of ``torch.profiler``."""

from __future__ import annotations

from enum import Enum

from .actions import ProfilerAction
from .warn import warn_user

_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class Move(Enum):
    """One thing to do between two steps."""

    PREPARE = "prepare"
    START = "start"
    STOP = "stop"
    HAND_OVER = "hand over"


def records(action: ProfilerAction | None) -> bool:
    """Whether what happens during this action is kept."""
    return action in _RECORDS


def moves_between(before: ProfilerAction, after: ProfilerAction | None) -> list[Move]:
    """What to do after ``before``; ``after`` is None at the end of profiling.

    >>> [move.name for move in moves_between(ProfilerAction.RECORD_AND_SAVE, ProfilerAction.WARMUP)]
    ['STOP', 'HAND_OVER', 'PREPARE']
    """
    if before is ProfilerAction.RECORD and records(after):
        return []
    moves = []
    if before is ProfilerAction.RECORD_AND_SAVE or (before is ProfilerAction.RECORD and after is None):
        moves += [Move.STOP, Move.HAND_OVER]
    elif before is ProfilerAction.RECORD:
        # The step that saves was left out. torch drops such a trace too.
        _warn_of_schedule(before, after)
        moves.append(Move.STOP)
    elif before is ProfilerAction.WARMUP and after is ProfilerAction.NONE:
        _warn_of_schedule(before, after)
    if records(after):
        moves.append(Move.START)
    elif after is ProfilerAction.WARMUP and before is not ProfilerAction.WARMUP:
        moves.append(Move.PREPARE)
    return moves


def _warn_of_schedule(before: ProfilerAction, after: ProfilerAction | None) -> None:
    lost = "; what was recorded is dropped" if before is ProfilerAction.RECORD else ""
    name = after.name if after is not None else "the end"
    warn_user(f"incorrect schedule: {before.name} is followed by {name}{lost}; end each cycle with RECORD_AND_SAVE")
