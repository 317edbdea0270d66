"""The settings of the ``profiling`` section: their names, kinds, defaults and checks."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from typing import Any, Callable

from . import values
from .problems import Place, Problems

#: What can be recorded; ``cuda`` is also the name for ROCm devices, as in PyTorch.
ACTIVITIES = ("cpu", "cuda", "xpu", "hpu", "mtia", "privateuse1")
#: What one count of ``wait``, ``warmup``, ``active`` and ``skip_first`` is.
UNITS = ("steps", "epochs")
#: Whose profiler records operators and kernels; ``auto`` means every framework that the program uses.
FRAMEWORKS = ("auto", "torch", "jax", "tensorflow", "none")
#: The settings that decide when to record.
SCHEDULE = frozenset({"wait", "warmup", "active", "repeat", "skip_first"})


@dataclass(frozen=True)
class Settings:
    """One checked ``profiling`` section. A key that was not written has its default.

    >>> settings = Settings(active=2)
    >>> settings.wait, settings.active, settings.unit
    (1, 2, 'steps')
    """

    #: False switches profiling off and keeps the section.
    enabled: bool = True
    #: Steps (or epochs) to leave out at the start of each cycle.
    wait: int = 1
    #: Steps (or epochs) during which the collector already runs but nothing is kept.
    warmup: int = 1
    #: Steps (or epochs) to record.
    active: int = 3
    #: How many cycles of wait, warmup and active; 0 repeats until the run ends.
    repeat: int = 1
    #: Steps (or epochs) to leave out once, before the first cycle.
    skip_first: int = 0
    #: "steps": ``step()`` drives the schedule. "epochs": ``epoch()`` does. Left out, it is steps; but epochs for a
    #: program that calls ``epoch()`` before any ``step()``.
    unit: str = "steps"
    #: The input shapes of each operator.
    record_shapes: bool = False
    #: Each allocation and release of tensor memory.
    profile_memory: bool = False
    #: The Python stack of each operator. Costs time.
    with_stack: bool = False
    #: FLOPs of matrix products and convolutions, from their shapes.
    with_flops: bool = False
    #: The ``nn.Module`` tree (TorchScript only, as in PyTorch).
    with_modules: bool = False
    #: Whose profiler records operators and kernels: "torch", "jax", "tensorflow", "none", or "auto" for the one in use.
    framework: str = "auto"
    #: What to record; None is everything that this machine offers.
    activities: list[str] | None = None
    #: The folder for traces; None is ``profiler_traces`` in the run folder.
    output: str | None = None
    #: Counters of the machine (processor, memory, GPU, disk, network): true, false or seconds between samples.
    monitor: bool | float = True
    #: Compress the trace files.
    gzip: bool = True
    #: The names that were written down by the user, in the file or as an override.
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @property
    def has_schedule(self) -> bool:
        """Whether the user wrote any setting that says when to record."""
        return bool(self.given & SCHEDULE)


def _at_least(least: int) -> Callable[[Any], int]:
    return lambda raw: values.whole_number(raw, least)


CHECKS: dict[str, Callable[[Any], Any]] = {
    "enabled": values.boolean,
    "wait": _at_least(0),
    "warmup": _at_least(0),
    "active": _at_least(1),
    "repeat": _at_least(0),
    "skip_first": _at_least(0),
    "unit": lambda raw: values.choice(raw, UNITS),
    "record_shapes": values.boolean,
    "profile_memory": values.boolean,
    "with_stack": values.boolean,
    "with_flops": values.boolean,
    "with_modules": values.boolean,
    "framework": lambda raw: values.choice(raw, FRAMEWORKS),
    "activities": lambda raw: values.words(raw, ACTIVITIES),
    "output": values.folder,
    "monitor": values.switch_or_seconds,
    "gzip": values.boolean,
}

#: Settings whose bare flag (``--profiling.with_stack``) means true.
FLAGS = frozenset(
    {"enabled", "record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "monitor", "gzip"}
)

assert set(CHECKS) == {one.name for one in fields(Settings)} - {"given"}


def nearest(name: str) -> str | None:
    """The setting that was probably meant, or None."""
    close = difflib.get_close_matches(name.lower().replace("-", "_"), CHECKS, n=1, cutoff=0.6)
    return close[0] if close else None


def check(name: Any, raw: Any, place: Place, into: dict[str, Any], problems: Problems) -> None:
    """Put one checked setting into ``into``, or one sentence into ``problems``."""
    known = str(name)
    if known not in CHECKS:
        meant = nearest(known)
        problems.add(place, f"there is no setting {known!r}" + (f"; did you mean {meant!r}?" if meant else ""))
        return
    if raw is None:
        # `output:` with nothing after it, or null: the default, as if the line were not there.
        into.pop(known, None)
        return
    try:
        into[known] = CHECKS[known](raw)
    except ValueError as expected:
        problems.add(place, f"{known} must be {expected}; it is {values.shown(raw)}")
