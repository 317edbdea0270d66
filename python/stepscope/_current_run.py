"""How a script meets ``stepscope run``, if that is what runs it.

``run`` puts itself here. A script's own ``configure`` then takes the settings typed after
``stepscope run`` too, a script's own profiler is not recorded twice, and stacks begin with the script.
"""

from __future__ import annotations

from types import CodeType
from typing import Any


class CurrentRun:
    """What a script inside ``stepscope run`` can ask of it."""

    #: (name, raw value, place) of the settings given to ``stepscope run``; they win over those of the script.
    overrides: list[tuple[str, Any, Any]] = []
    #: The folder given to ``stepscope run``, or None.
    output: str | None = None
    #: The function that runs the script: frames up to it are ours, not the script's.
    root: CodeType | None = None
    #: The outermost function of ``stepscope run``.
    launcher: CodeType | None = None

    def profile_starts(self, profile: object) -> None:
        """A profiler is about to start; unless it is the run's own, the run stops recording."""

    def wrote(self, path: str) -> None:
        """The script's own profiling has written a trace."""

    def step(self, samples: float | None = None) -> None:
        """The script says that a step has ended, and how many samples it worked through."""

    def epoch(self) -> None:
        """The script says that an epoch has ended."""


_current: CurrentRun | None = None


def current_run() -> CurrentRun | None:
    """The run that this script is in, or None."""
    return _current


def set_current_run(run: CurrentRun | None) -> None:
    """Called by ``stepscope run`` only."""
    global _current
    _current = run
