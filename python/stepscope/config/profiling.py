"""What ``configure`` returns: a context manager with ``step()`` and ``epoch()``.

There are three kinds behind one surface, so that a training loop never asks which it has: off, on,
and inside a ``stepscope run`` that records already.
"""

from __future__ import annotations

import atexit
import glob
import itertools
import logging
import os
import re
import socket
import sys
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Callable

from .._current_run import current_run
from .._ranks import has_peers, process_place
from .._samples import checked_samples
from .._step_times import step_ended
from ..errors import StepscopeWarning
from .settings import Settings

_log = logging.getLogger("stepscope")

_NOT_STARTED = (
    "profiling was configured but not started, so nothing is recorded; "
    "put the loop inside `with stepscope.configure(…) as profiling:`"
)

_told_at_exit: list[bool] = []


class Profiling:
    """Profiling that is off: everything can be called, nothing happens.

    Call ``step()`` after each step and ``epoch()`` after each epoch. ``unit`` decides which of the two drives the
    schedule; the other one is allowed and does nothing, so a loop can call both and leave the choice to the
    configuration. If the configuration leaves ``unit`` out, steps count; and epochs do if the first thing the loop says
    is that an epoch has ended, since then it says nothing of steps.

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

    def step(self, samples: float | None = None) -> None:
        """One training step has ended. ``samples`` says how many samples it worked through (the batch), so that samples
        per second are known."""
        step_ended("configured", checked_samples(samples))

    def epoch(self) -> None:
        """One epoch has ended."""

    def forget(self) -> None:
        """It is not to be started: it was made to find out whether its settings are right."""

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


class ScheduleUnit:
    """What the schedule counts: what the settings say, or else what the program tells of first.

    >>> unit = ScheduleUnit(Settings())
    >>> unit.counts("epochs"), unit.counts("steps"), unit.name
    (True, False, 'epochs')
    >>> unit = ScheduleUnit(Settings(unit="steps", given=frozenset({"unit"})))
    >>> unit.counts("epochs"), unit.counts("steps"), unit.name
    (False, True, 'steps')
    """

    def __init__(self, settings: Settings) -> None:
        #: "steps" or "epochs".
        self.name = settings.unit
        self._open = "unit" not in settings.given
        #: Whether the program has reported something that does not count.
        self.ignored = False

    def counts(self, unit: str) -> bool:
        """Whether the end of one of these counts."""
        if self._open:
            # Steps end before their epoch does, so a loop that tells of both tells of a step first.
            self._open, self.name = False, unit
        self.ignored = self.ignored or unit != self.name
        return unit == self.name


class FollowingProfiling(Profiling):
    """Off by itself, but ``stepscope run`` records this script: steps and epochs are passed on to it."""

    def step(self, samples: float | None = None) -> None:
        run = current_run()
        if run is not None:
            run.step(checked_samples(samples))

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
        self._unit = ScheduleUnit(settings)
        self._counted = 0
        self._process = os.getpid()
        atexit.register(self._say_if_never_started)

    def start(self) -> None:
        if self._state == "running":
            return
        atexit.unregister(self._say_if_never_started)
        try:
            self.profile = make_profile(self.settings, self._write)
            self.profile.start()
        except Exception as error:
            self._give_up("start", error)
            return
        self._state = "running"

    def forget(self) -> None:
        atexit.unregister(self._say_if_never_started)

    def stop(self) -> None:
        self._stop(tell=True)

    def _stop(self, tell: bool) -> None:
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
        if tell and not self.traces:
            self._say_if_nothing_was_recorded()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A program that failed has worse news than that there is no trace.
        self._stop(tell=error is None)

    def _say_if_never_started(self) -> None:
        """At the end of the program, where no one looks at warnings any more."""
        if self._state == "new" and os.getpid() == self._process:
            if not _told_at_exit:  # Of several, one says it.
                _told_at_exit.append(True)
                print(f"stepscope: {_NOT_STARTED}", file=sys.stderr)

    def _say_if_nothing_was_recorded(self) -> None:
        settings, unit = self.settings, self._unit.name
        before = settings.skip_first + settings.wait + settings.warmup
        if self._counted >= before:
            return  # What was recorded could not be written, which has been said.
        if self._counted:
            ended = f"the program ended after {self._counted} {unit}"
            why = f"{ended}, and the schedule records from {unit[:-1]} {before + 1} on"
        else:
            why = f"profiling.{unit[:-1]}() was never called"
            if self._unit.ignored:
                other = "epoch" if unit == "steps" else "step"
                why += f" and profiling.{other}() does not count with unit: {unit}"
            why += ", so the schedule never began"
        warnings.warn(f"profiling was configured, but there is no trace: {why}", StepscopeWarning, stacklevel=4)

    def step(self, samples: float | None = None) -> None:
        samples = checked_samples(samples)
        step_ended("configured", samples)
        if self._unit.counts("steps"):
            self._advance(samples)

    def epoch(self) -> None:
        if self._unit.counts("epochs"):
            self._advance()

    def _advance(self, samples: float | None = None) -> None:
        self._counted += 1
        if self._state == "running":
            try:
                self.profile.step(samples)  # type: ignore[union-attr]
            except Exception as error:
                self._give_up("go on", error)
        elif self._state == "new":
            self._state = "failed"
            warnings.warn(_NOT_STARTED, StepscopeWarning, stacklevel=3)

    def _write(self, profile: Any) -> None:
        path = write_trace(profile, self.output, self.settings.gzip)
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
        **{"framework": None if settings.framework == "auto" else settings.framework, **more},
    )


def write_trace(profile: Any, folder: Path, gzip: bool, path: Path | None = None) -> Path:
    """Write what a profiler has recorded: a trace to this ``path``, or else into this folder, under a name of its
    own. There it is the profile of JAX or TensorFlow where only they recorded."""
    from ..profiler.xplane_file import holds_xplane

    folder.mkdir(parents=True, exist_ok=True)
    if path is None and holds_xplane(profile):
        return Path(profile.export_xplane(folder))
    path = path or folder / trace_name(gzip)
    profile.export_chrome_trace(str(path))
    return path


def trace_name(gzip: bool) -> str:
    """``<host>_<process id>.<time>.pt.trace.json.gz``, as TensorBoard and torch name traces."""
    ending = ".pt.trace.json.gz" if gzip else ".pt.trace.json"
    return f"{socket.gethostname()}_{os.getpid()}.{time.time_ns()}{ending}"


def path_of_run(folder: Path, program: str, gzip: bool) -> Path:
    """A file for the trace of a program: named after it, the time, and its rank if it has one.

    >>> path_of_run(Path("traces"), "src/train.py", gzip=True).name  # doctest: +ELLIPSIS
    'train-20...-....pt.trace.json.gz'
    """
    name = os.path.basename(os.path.normpath(program))
    name = re.sub(r"[^\w.-]+", "_", name[: -len(".py")] if name.endswith(".py") else name) or "run"
    place = process_place() if has_peers() else None
    rank = "" if place is None else f"-rank{place[0]}"
    base = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}{rank}"
    ending = ".pt.trace.json.gz" if gzip else ".pt.trace.json"
    # Started twice in a second: the later one has a number.
    names = (base if number == 1 else f"{base}.{number}" for number in itertools.count(1))
    return folder / next(f"{name}{ending}" for name in names if not list(folder.glob(f"{glob.escape(name)}.*")))
