"""A recording of everything from start to stop, which the profilers of frameworks may join on the way."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Callable

from .._native import now_ns
from ..config.settings import Settings
from ..errors import StepscopeError
from ..profiler import forks, torch_engine
from ..profiler.activities import ProfilerActivity, torch_activities
from ..profiler.metadata import environment_metadata
from ..profiler.recorder import Recorder
from ..profiler.saving import save_capture
from ..profiler.warn import warn_user
from ..profiler.xla_engine import COLLECTORS
from .phases import Phases
from .window import SAMPLES_HZ


class ProgramCapture:
    """Regions, stacks and counters from the first line on; operators once a framework is there.

    ``say`` takes what the user has to know, and ``joined`` is called when JAX or TensorFlow begins to record."""

    def __init__(
        self,
        settings: Settings,
        journal: str | None,
        follow: bool = True,
        say: Callable[[str], None] = warn_user,
        joined: Callable[[], None] | None = None,
    ) -> None:
        self._settings = settings
        self._recorder = Recorder(settings.monitor, journal, SAMPLES_HZ)
        self._recorder.with_children = follow
        self._recorder.say = say
        self._recorder.xla_joined = joined
        self._torch: Any = None
        self._inner: Any = None
        self._torch_thread: int | None = None
        self._step_start_ns: int | None = None
        #: Steps that were marked.
        self.steps = 0
        #: What the trace says about the run, as JSON texts.
        self.metadata: dict[str, str] = {}
        #: Whether operators of PyTorch are in the recording.
        self.has_torch = False

    def start(self) -> None:
        """Begin."""
        forks.watch(self)
        self._recorder.begin()

    def start_torch(self, torch: Any) -> None:
        """Let PyTorch's collector record too. It belongs to the thread that starts it."""
        if self._inner is not None or self._recorder.open is None:
            return
        taken = torch_engine.why_torch_is_taken(torch)
        if taken is not None:
            raise StepscopeError(f"PyTorch operators are not recorded: {taken}", hint="run one profiler at a time")
        inner = torch_engine.make_inner(torch, self, self._options(torch))
        self._torch, self._torch_thread = torch, threading.get_ident()
        preset = getattr(inner, "preset_metadata_json", None)
        if preset is not None:
            for key, value in self.metadata.items():
                preset(key, value)
        inner.start()
        self._inner = inner
        self.has_torch = True
        torch_engine.claim(self)

    def begin_anew(self, torch: Any) -> None:
        """Drop what was recorded so far, and record all of it again."""
        self.stop()
        self.forget()
        self.steps, self._step_start_ns = 0, None
        self.start()
        self.start_torch(torch)

    def expect(self, name: str) -> None:
        """Let JAX or TensorFlow record too, from the program's first use on."""
        capture = self._recorder.open
        if capture is not None:
            capture.expect(COLLECTORS[name](python_calls=self._settings.with_stack, waits=True))

    @property
    def has_operators(self) -> bool:
        """Whether operators of a framework are in the recording."""
        capture = self._recorder.open
        return self.has_torch or (capture is not None and capture.xla.records)

    def step(self, samples: float | None = None) -> None:
        """A step has ended, with so many samples. What lies before the end of the first one is start-up, not a step."""
        capture, ended_ns = self._recorder.open, now_ns()
        if capture is not None and self._step_start_ns is not None:
            capture.recording.step(self.steps, self._step_start_ns, ended_ns)
            capture.xla.mark_thread()
            self._recorder.samples(samples, self._step_start_ns, ended_ns)
            self.steps += 1
        self._step_start_ns = ended_ns

    def drop_steps(self) -> None:
        """What was taken for steps was none; the next one begins with the end of the one before it."""
        if self._recorder.open is not None:
            self._recorder.open.recording.drop_steps()
        self._step_start_ns, self.steps = None, 0

    def start_up(self, phases: Phases) -> dict[str, Any] | None:
        """What the main thread did before the first iteration ended, as nanoseconds by name, and the longest imports.
        None if it was not sampled."""
        capture = self._recorder.open or self._recorder.finished
        thread = threading.main_thread().native_id
        if capture is None or thread is None or phases.first_ended_ns is None:
            return None
        known = capture.recording.start_up(thread, phases.began_ns, phases.first_ended_ns, phases.own)
        if known is None:
            return None
        times, imports = known
        return {**times, "longest_imports": [{"package": package, "import_ns": ns} for package, ns in imports]}

    def stop(self) -> None:
        """End; what was recorded can be saved."""
        forks.unwatch(self)
        try:
            if self._recorder.open is not None:
                # What PyTorch's profiler does to end is not part of the program.
                self._recorder.open.stop_sampling()
            self._stop_torch()
        finally:
            self._recorder.end()

    def stop_operators(self) -> None:
        """Let the profilers of frameworks end; the rest is recorded on."""
        try:
            self._stop_torch()
        finally:
            if self._recorder.open is not None:
                self._recorder.open.xla.stop()

    def save(self, path: str, entries: Mapping[str, str] | None = None) -> None:
        """Write the trace, compressed if the name ends in ``.gz``, with entries as JSON texts by name."""
        capture = self._recorder.finished
        if capture is None:
            raise StepscopeError("nothing was recorded", hint="call start() and stop() before save()")
        capture.entries.update(entries or {})
        save_capture(capture, path, {**environment_metadata(), **self.metadata})

    @property
    def is_empty(self) -> bool:
        """Whether a finished recording holds nothing but counters."""
        capture = self._recorder.finished
        if capture is None:
            return True
        return capture.torch_results is None and not capture.recording.slices and not capture.xla.profiles

    @property
    def children(self) -> tuple[list[str], int, str | None]:
        """What a finished recording has of child processes; see :attr:`Recording.children`."""
        capture = self._recorder.finished
        return ([], 0, None) if capture is None else capture.recording.children

    def forget(self) -> None:
        """Let go of what was recorded: it can be large."""
        self._recorder.finished = None

    def _stop_torch(self) -> None:
        inner, self._inner = self._inner, None
        if inner is None:
            return
        torch_engine.release(self)
        torch_engine.keep_regions()
        if threading.get_ident() != self._torch_thread:
            raise StepscopeError(
                "PyTorch's profiler was started in another thread and cannot be stopped from this one",
                hint="end the recording in the thread that first used PyTorch",
            )
        inner.stop()

    def _options(self, torch: Any) -> dict[str, Any]:
        settings = self._settings
        options: dict[str, Any] = {
            "record_shapes": settings.record_shapes,
            "profile_memory": settings.profile_memory,
            "with_stack": settings.with_stack,
            "with_flops": settings.with_flops,
            "with_modules": settings.with_modules,
        }
        if settings.activities is not None:
            chosen = {member for member in ProfilerActivity if member.name.lower() in settings.activities}
            options["activities"] = torch_activities(torch, chosen)[0]
        return options

    def torch_started(self) -> None:
        """PyTorch records from now on."""
        torch_engine.send_regions_to_torch(self._torch)

    def torch_stopping(self) -> None:
        """PyTorch is about to end its recording."""
        torch_engine.keep_regions()

    def torch_stopped(self, results: Any) -> None:
        """PyTorch has results."""
        if self._recorder.open is not None:
            self._recorder.open.torch_results = results

    def hand_over(self) -> None:
        """PyTorch's profiler says that a trace is complete; it is saved when the run ends."""

    def turn_off_in_child(self) -> None:
        """In a forked child: the recording is the parent's."""
        self._inner = None
        self._recorder.forget()
