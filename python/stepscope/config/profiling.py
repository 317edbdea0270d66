"""What ``configure`` returns: a context manager with ``step()`` and ``epoch()``.

There are three kinds behind one surface, so that a training loop never asks which it has: off, on,
and inside a ``stepscope run`` that records already.
"""

from __future__ import annotations

import logging
import os
import socket
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Callable

from .._current_run import current_run
from ..errors import StepscopeWarning
from .settings import Settings

_log = logging.getLogger("stepscope")


class Profiling:
    """Profiling that is off: everything can be called, nothing happens.

    Call ``step()`` after each step and ``epoch()`` after each epoch. ``unit`` decides which of the two drives the
    schedule; the other one is allowed and does nothing, so a loop can call both and leave the choice to the
    configuration.

    >>> from stepscope.config import configure
    >>> with configure({}) as profiling:
    ...     profiling.step()
    >>> bool(profiling), profiling.traces
    (False, [])
    """

    #: Whether anything is recorded.
    enabled: bool = False
    #: The ``stepscope.profile`` at work, for ``key_averages()`` and the like; None while nothing runs.
    profile: Any | None = None

    def __init__(self, settings: Settings, remaining: list[str], output: Path) -> None:
        #: The checked settings.
        self.settings = settings
        #: The arguments without ours: with ``overrides=sys.argv`` the first is still the program's name.
        self.remaining = remaining
        #: The folder for traces.
        self.output = output
        #: The trace files written so far.
        self.traces: list[Path] = []

    def start(self) -> None:
        """Begin; ``with`` does it for you."""

    def stop(self) -> None:
        """End, and write what was recorded; ``with`` does it for you."""

    def step(self) -> None:
        """One training step has ended."""

    def epoch(self) -> None:
        """One epoch has ended."""

    def __bool__(self) -> bool:
        return self.enabled

    def __enter__(self) -> Profiling:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "on" if self.enabled else "off"
        return f"<stepscope profiling {state}, traces in {self.output}>"


class FollowingProfiling(Profiling):
    """Off by itself, but ``stepscope run`` records this script: steps and epochs are passed on to it."""

    def step(self) -> None:
        run = current_run()
        if run is not None:
            run.step()

    def epoch(self) -> None:
        run = current_run()
        if run is not None:
            run.epoch()


class ActiveProfiling(Profiling):
    """Profiling by its settings. What goes wrong in it is a warning; training goes on."""

    enabled = True

    def __init__(self, settings: Settings, remaining: list[str], output: Path) -> None:
        super().__init__(settings, remaining, output)
        self._state = "new"

    def start(self) -> None:
        if self._state == "running":
            return
        try:
            self.profile = make_profile(self.settings, self._write)
            self.profile.start()
        except Exception as error:
            self._give_up("start", error)
            return
        self._state = "running"

    def stop(self) -> None:
        if self._state != "running":
            return
        self._state = "stopped"
        try:
            if self.profile is not None:
                self.profile.stop()
        except Exception as error:
            self._give_up("stop", error)
            return
        for path in self.traces:
            _log.info("trace: %s (open it with: stepscope view %s)", path, path)

    def step(self) -> None:
        if self.settings.unit == "steps":
            self._advance()

    def epoch(self) -> None:
        if self.settings.unit == "epochs":
            self._advance()

    def _advance(self) -> None:
        if self._state == "running":
            try:
                self.profile.step()  # type: ignore[union-attr]
            except Exception as error:
                self._give_up("go on", error)
        elif self._state == "new":
            self._state = "failed"
            warnings.warn(
                "profiling was configured but not started, so nothing is recorded; "
                "put the loop inside `with stepscope.configure(…) as profiling:`",
                StepscopeWarning,
                stacklevel=3,
            )

    def _write(self, profile: Any) -> None:
        path = self.output / trace_name(self.settings.gzip)
        self.output.mkdir(parents=True, exist_ok=True)
        profile.export_chrome_trace(str(path))
        self.traces.append(path)
        run = current_run()
        if run is not None:
            run.wrote(str(path))

    def _give_up(self, what: str, error: Exception) -> None:
        self._state = "failed"
        warnings.warn(f"profiling could not {what}; training goes on: {error}", StepscopeWarning, stacklevel=4)


def make_profile(settings: Settings, on_trace_ready: Callable[[Any], None], **more: Any) -> Any:
    """A ``stepscope.profile`` by these settings, not yet started; ``more`` are further arguments of it."""
    from ..profiler import ProfilerActivity, profile, schedule

    activities = None
    if settings.activities is not None:
        members = {member.name.lower(): member for member in ProfilerActivity}
        activities = [members[name] for name in settings.activities]
    return profile(
        activities=activities,
        schedule=schedule(
            wait=settings.wait,
            warmup=settings.warmup,
            active=settings.active,
            repeat=settings.repeat,
            skip_first=settings.skip_first,
        ),
        on_trace_ready=on_trace_ready,
        record_shapes=settings.record_shapes,
        profile_memory=settings.profile_memory,
        with_stack=settings.with_stack,
        with_flops=settings.with_flops,
        with_modules=settings.with_modules,
        monitor=settings.monitor,
        **more,
    )


def trace_name(gzip: bool) -> str:
    """``<host>_<process id>.<time>.pt.trace.json.gz``, as TensorBoard and torch name traces."""
    ending = ".pt.trace.json.gz" if gzip else ".pt.trace.json"
    return f"{socket.gethostname()}_{os.getpid()}.{time.time_ns()}{ending}"
