"""Drives the profilers of JAX and TensorFlow. They write XPlane files; our regions and steps are in them too."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, Callable

from .._native import set_torch_regions
from ..errors import StepscopeError
from .frameworks import if_imported, imported
from .suspends import may_suspend
from .xla_guard import XlaGuard, ours

STEP_NAME = "train"
"""What XProf and TensorBoard expect a step to be called."""

_warm: set[str] = set()


class XlaCollector:
    """The profiler of one framework, from one start to one stop."""

    title = ""
    #: Functions through which a program starts this profiler itself.
    starters: Sequence[tuple[str, str]] = ()

    def __init__(self, *, python_calls: bool = False, devices: bool = True, keeps_last_step: bool = False) -> None:
        self.python_calls = python_calls
        self.devices = devices
        self.keeps_last_step = keeps_last_step
        """Whether the step that is open at the end is one; otherwise nobody said that it had ended."""
        self._folder = ""
        self._guard: XlaGuard | None = None
        self._step: Any = None
        self._process = os.getpid()

    def warm_up(self) -> None:
        """Starts and stops once, so that what is only done for the first time is not part of a recording."""
        if self.title in _warm:
            return
        _warm.add(self.title)
        folder = tempfile.mkdtemp(prefix="stepscope-")
        try:
            with ours():
                self._begin(folder)
                self._end()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def start(self, folder: str, give_way: Callable[[], None]) -> None:
        """Begins; ``give_way`` is called if the program starts the same profiler meanwhile."""
        _warm.add(self.title)
        with ours():
            self._begin(folder)
        self._folder = folder
        self._guard = XlaGuard(self.starters, give_way)
        self._guard.install()
        set_torch_regions(self._region, True)

    def step_begins(self, number: int) -> None:
        """The step before has ended, and this one begins."""
        self._step_ends()
        step = self._annotation(STEP_NAME, number)
        step.__enter__()
        self._step = step

    def stop(self) -> str:
        """Ends, and returns the file that was written."""
        if os.getpid() != self._process:
            raise StepscopeError("this process is a forked child", hint="stop the profiler where it was started")
        set_torch_regions(None)
        if self._guard is not None:
            self._guard.remove()
        if self.keeps_last_step:
            self._step_ends()
        # What was launched may still run. What it took belongs to the steps that were recorded.
        with contextlib.suppress(Exception):
            self._wait()
        try:
            with ours():
                self._end()
        finally:
            # A step that ends when nothing records any more is in no file.
            self._step_ends()
        return _newest(self._folder, self.title)

    def _step_ends(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    def _region(self, name: str) -> Any:
        # Tasks that take turns would cut each other: those regions are only ours.
        return None if may_suspend(sys._getframe(1)) else self._annotation(name, None)

    def _begin(self, folder: str) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def _wait(self) -> None:
        raise NotImplementedError

    def _annotation(self, name: str, step: int | None) -> Any:
        raise NotImplementedError


class JaxCollector(XlaCollector):
    """``jax.profiler``."""

    title = "JAX"
    starters = (("jax.profiler", "start_trace"), ("jax._src.profiler", "start_trace"))

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._jax = if_imported("jax") or imported("jax")
        self._profiler = imported("jax.profiler")

    def _begin(self, folder: str) -> None:
        make = getattr(self._profiler, "ProfileOptions", None)
        if make is None:  # older than 0.5: Python's calls are always recorded
            self._profiler.start_trace(folder)
            return
        options = make()
        levels = {
            "python_tracer_level": int(self.python_calls),
            "host_tracer_level": 2,
            "device_tracer_level": int(self.devices),
        }
        for name, level in levels.items():
            if hasattr(options, name):
                setattr(options, name, level)
        self._profiler.start_trace(folder, profiler_options=options)

    def _end(self) -> None:
        self._profiler.stop_trace()

    def _wait(self) -> None:
        # JAX cannot wait for a device; what is computed for the next step is alive, though.
        self._jax.block_until_ready(self._jax.live_arrays())

    def _annotation(self, name: str, step: int | None) -> Any:
        if step is None:
            return self._profiler.TraceAnnotation(name)
        return self._profiler.StepTraceAnnotation(name, step_num=step)


class TensorFlowCollector(XlaCollector):
    """``tf.profiler.experimental``."""

    title = "TensorFlow"
    starters = (
        ("tensorflow._api.v2.profiler.experimental", "start"),
        ("tensorflow.python.profiler.profiler_v2", "start"),
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tensorflow = if_imported("tensorflow") or imported("tensorflow")
        self._profiler = self._tensorflow.profiler.experimental

    def _begin(self, folder: str) -> None:
        levels = self._profiler.ProfilerOptions(
            host_tracer_level=2,
            python_tracer_level=int(self.python_calls),
            device_tracer_level=int(self.devices),
        )
        self._profiler.start(folder, options=levels)

    def _end(self) -> None:
        self._profiler.stop()

    def _wait(self) -> None:
        self._tensorflow.test.experimental.sync_devices()

    def _annotation(self, name: str, step: int | None) -> Any:
        if step is None:
            return self._profiler.Trace(name)
        return self._profiler.Trace(name, step_num=step, _r=1)


COLLECTORS: dict[str, type[XlaCollector]] = {"jax": JaxCollector, "tensorflow": TensorFlowCollector}


def _newest(folder: str, title: str) -> str:
    found = glob.glob(os.path.join(glob.escape(folder), "plugins", "profile", "*", "*.xplane.pb"))
    found = [path for path in found if os.path.getsize(path) > 0]
    if not found:
        raise StepscopeError(f"{title}'s profiler has written nothing", hint="record fewer steps, or free some space")
    return max(found, key=os.path.getmtime)
