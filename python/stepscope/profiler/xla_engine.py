"""Drives the profilers of JAX and TensorFlow. They write XPlane files; our regions and steps are in them too, marked as
ours, so that a trace that has them from us takes the rest of such a file."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import Any, Callable

from .._native import now_ns, set_torch_regions
from ..errors import StepscopeError
from .frameworks import if_imported, imported, in_use
from .suspends import may_suspend
from .xla_guard import XlaGuard, ours

STEP_NAME = "train"
"""What XProf and TensorBoard expect a step to be called."""

THREAD_NAME = "stepscope thread"
"""A mark that says which thread it is on."""

_warm: set[str] = set()


class XlaCollector:
    """The profiler of one framework, from one start to one stop."""

    name = ""
    title = ""
    #: Functions through which a program starts this profiler itself.
    starters: Sequence[tuple[str, str]] = ()

    def __init__(
        self,
        *,
        python_calls: bool = False,
        devices: bool = True,
        keeps_last_step: bool = False,
        waits: bool = False,
    ) -> None:
        self.waits = waits
        """Whether it must not start before the program uses the framework."""
        self.started_ns = 0
        self.python_calls = python_calls
        self.devices = devices
        self.keeps_last_step = keeps_last_step
        """Whether the step that is open at the end is one; otherwise its end was not reported."""
        self._folder = ""
        self._guard: XlaGuard | None = None
        self._step: Any = None
        self._marked: set[int] = set()
        self._process = os.getpid()

    def warm_up(self) -> None:
        """Starts and stops once, so that what is only done for the first time is not part of a recording."""
        if self.title in _warm or (self.waits and not in_use(self.name)):
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
        self.started_ns = now_ns()
        with ours():
            self._begin(folder)
        self._folder = folder
        self._guard = XlaGuard(self.starters, give_way)
        self._guard.install()
        set_torch_regions(self._region, True)

    def mark_thread(self) -> None:
        """Put the system's number of this thread into the file, which numbers threads otherwise."""
        thread = threading.get_native_id()
        if thread not in self._marked:
            self._marked.add(thread)
            with self._annotation(THREAD_NAME, None, stepscope_thread=thread):
                pass

    def step_begins(self, number: int) -> None:
        """The step before has ended, and this one begins."""
        self.mark_thread()
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
        self.mark_thread()
        if self.keeps_last_step:
            self._step_ends()
        # What was launched may still run. What it took belongs to the steps that were recorded.
        self.wait()
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
        self.mark_thread()
        # Tasks that take turns would cut each other: those regions are only ours.
        return None if may_suspend(sys._getframe(1)) else self._annotation(name, None)

    def _begin(self, folder: str) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def _wait(self) -> None:
        raise NotImplementedError

    def _annotation(self, name: str, step: int | None, **more: int) -> Any:
        raise NotImplementedError

    def wait(self) -> None:
        """Until devices have done what was launched, as far as that can be known."""
        with contextlib.suppress(Exception):
            self._wait()


class JaxCollector(XlaCollector):
    """``jax.profiler``."""

    name = "jax"
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

    def _annotation(self, name: str, step: int | None, **more: int) -> Any:
        if step is None:
            return self._profiler.TraceAnnotation(name, stepscope=1, **more)
        return self._profiler.StepTraceAnnotation(name, step_num=step, stepscope=1)


class TensorFlowCollector(XlaCollector):
    """``tf.profiler.experimental``."""

    name = "tensorflow"
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

    def _annotation(self, name: str, step: int | None, **more: int) -> Any:
        if step is None:
            return self._profiler.Trace(name, stepscope=1, **more)
        return self._profiler.Trace(name, step_num=step, _r=1, stepscope=1)


COLLECTORS: dict[str, type[XlaCollector]] = {"jax": JaxCollector, "tensorflow": TensorFlowCollector}


def wait_for_devices() -> bool:
    """Until the devices of JAX and TensorFlow have done what was launched; False if the program uses neither."""
    used = [collector for name, collector in COLLECTORS.items() if in_use(name)]
    for collector in used:
        collector().wait()
    return bool(used)


def _newest(folder: str, title: str) -> str:
    found = glob.glob(os.path.join(glob.escape(folder), "plugins", "profile", "*", "*.xplane.pb"))
    found = [path for path in found if os.path.getsize(path) > 0]
    if not found:
        raise StepscopeError(f"{title}'s profiler has written nothing", hint="record fewer steps, or free some space")
    return max(found, key=os.path.getmtime)
