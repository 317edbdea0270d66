"""What the callbacks of all frameworks share: profiling from keyword settings, ended even if training fails."""

from __future__ import annotations

import atexit
import os
from typing import Any, NoReturn

from ..config import Profiling, configure
from ..errors import StepscopeError


def checked(settings: dict[str, Any]) -> dict[str, Any]:
    """The same settings, after an error for each that is wrong: better at the start than hours later."""
    configure({"profiling": settings}).forget()
    return settings


_running: Profiling | None = None


def begin(settings: dict[str, Any], run_dir: str | os.PathLike[str] | None) -> Profiling:
    """Start profiling by these settings. It ends with the process, or with the next one, if no one ends it before.

    Frameworks tell a callback nothing when training raises or is interrupted in a notebook. What was recorded
    until then is written, and the next training finds PyTorch's profiler free.
    """
    global _running
    end(_running)
    profiling = configure({"profiling": settings}, run_dir=run_dir)
    profiling.start()
    _running = profiling
    return profiling


def end(profiling: Profiling | None) -> list[str]:
    """End profiling; returns the traces it has written."""
    global _running
    if profiling is None:
        return []
    if profiling is _running:
        _running = None
    profiling.stop()
    return [str(path) for path in profiling.traces]


atexit.register(lambda: end(_running))


class Regions:
    """Named regions that a framework opens and closes with two separate calls."""

    def __init__(self) -> None:
        self._open: dict[str, list[Any]] = {}

    def enter(self, name: str) -> None:
        """Open a region."""
        from ..profiler import record_function

        region = record_function(name)
        region.__enter__()
        self._open.setdefault(name, []).append(region)

    def leave(self, name: str) -> None:
        """Close the region of this name that was opened last; nothing if there is none."""
        opened = self._open.get(name)
        if opened:
            opened.pop().__exit__(None, None, None)


def missing(framework: str, install: str, reason: BaseException | None) -> NoReturn:
    """The error for a framework that is not there."""
    raise StepscopeError(f"{framework} is not installed", hint=f"pip install {install}") from reason
