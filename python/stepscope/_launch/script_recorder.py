"""What is recorded while ``stepscope run`` runs a script, and how that changes on the way.

It begins with a recording of everything. If a schedule is asked for, the end of the first step replaces
it by a profiler that keeps the schedule; if no step is ever seen, the recording of everything is kept.
Nothing in here may disturb the script: what goes wrong becomes a note in the report.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Callable

from .._current_run import CurrentRun
from .._writing import cannot_write
from ..config.profiling import UnitFound, make_profile, trace_name, write_trace
from ..config.settings import Settings
from ..errors import StepscopeError
from .child_run import follow
from .children import Children, words_about
from .follow import Plan
from .framework_join import FrameworkJoin
from .main_thread import MainThreadTimer
from .operator_memory import OperatorMemory, default_limit
from .optimizer_steps import OptimizerSteps
from .program_capture import SAMPLES_HZ, ProgramCapture
from .sampled_child import traces_of_children, why_not_read
from .torch_join import TorchJoin

#: Seconds of PyTorch's operators that are kept by default: they fill memory until they are written.
TORCH_SECONDS = 60.0


class ScriptRecorder(CurrentRun):
    """Records one run; :attr:`traces` and :attr:`notes` say what came of it."""

    def __init__(
        self,
        settings: Settings,
        output: Path,
        seconds: float | None,
        memory_gib: float | None = None,
        follow: bool = True,
        frameworks: bool = False,
    ) -> None:
        if not settings.has_schedule:
            # Nobody chose: what most answers need.
            settings = dataclasses.replace(
                settings,
                record_shapes=settings.record_shapes or "record_shapes" not in settings.given,
                profile_memory=settings.profile_memory or "profile_memory" not in settings.given,
            )
        self._settings = settings
        self._unit = UnitFound(settings)
        self._folder = output
        self._seconds = seconds
        self._memory_gib = memory_gib
        self._follow = follow
        #: Whether the profilers of JAX and TensorFlow record too.
        self._frameworks = frameworks
        self._beside: list[FrameworkJoin] = []
        self._self_sampled: tuple[Any, str, float] | None = None
        self._seen_children: tuple[list[str], int, str | None] | None = None
        self._memory: OperatorMemory | None = None
        self.traces: list[Path] = []
        self.notes: list[str] = []
        #: What only somebody who asked for a report wants to know.
        self.remarks: list[str] = []
        self._process = os.getpid()
        self._capture: ProgramCapture | None = None
        self._profile: Any = None
        self._explicit_steps = False
        self._counted = 0
        self._ended = False
        self._made_folder = False
        self._here = threading.local()
        self._lock = threading.RLock()
        #: Why recording has to end, though the script goes on.
        self._overdue: str | None = None
        self._timer: MainThreadTimer | None = None
        self._steps = OptimizerSteps(lambda: self._safely(self._step_found))
        self._join: TorchJoin | None = None
        self._children = Children()
        self._started_at = 0.0
        self._joined_at = 0.0

    @property
    def _scheduled(self) -> bool:
        return self._settings.has_schedule

    def take_folder(self) -> None:
        """Make sure that traces can be written, before the script has run for hours."""
        try:
            self._made_folder = not self._folder.exists()
            self._folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self._folder).close()
        except OSError as error:
            raise cannot_write("traces", str(self._folder), error, "choose another folder with -o FOLDER") from error

    def start(self) -> None:
        """Begin to record."""
        self._started_at = time.monotonic()
        self._safely(self._start)

    def _start(self) -> None:
        self._children.start()
        self._path = self._folder / trace_name(self._settings.gzip)
        journal = str(self._path)[: -len(".gz")] if self._settings.gzip else str(self._path)
        unread = why_not_read() if self._follow else None
        if unread is not None:
            self._let_children_sample(unread)
        self._capture = ProgramCapture(
            self._settings,
            journal.replace(".pt.trace.json", ".unfinished.pt.trace.json"),
            self._follow and unread is None,
        )
        self._capture.start()
        if self._seconds:
            self._limit(self._seconds)
        self._join = TorchJoin(
            self._capture,
            lambda: self._end("the script started PyTorch's profiler itself"),
            self._safely,
            imported=self._torch_imported,
            joined=self._torch_joined,
        )
        self._join.start()
        if self._frameworks:
            for name in ("jax", "tensorflow"):
                join = FrameworkJoin(name, self._settings.with_stack, self._framework_joined, self._safely, self._say)
                self._beside.append(join)
                self._safely(join.start)

    def _let_children_sample(self, why: str) -> None:
        """Children may not be looked at: they look at themselves."""
        options = {"folder": str(self._folder), "gzip": self._settings.gzip, "hz": SAMPLES_HZ}
        self._self_sampled = follow(Plan("samples", str(self._path), samples=options), None), why, time.time()
        self._self_sampled[0].following.start()

    def _note_children(self) -> None:
        started = self._children.stop()
        if self._self_sampled is None:
            notes, remarks = words_about(started, self._seen_children)
            self.notes += notes
            self.remarks += remarks
            return
        followed, why, since_s = self._self_sampled
        followed.following.stop()
        traces = len(traces_of_children(self._folder, self._path, since_s))
        if started:
            self.notes.append(
                f"child processes may not be sampled from outside ({why}), so they sampled themselves: "
                f"{traces:,} of {started:,} wrote a trace into {os.path.relpath(self._folder)}"
            )

    def finish(self, ran: bool = True) -> None:
        """The script has ended: write what was recorded, if it ``ran`` at all."""
        if os.getpid() != self._process:
            self.notes.clear()  # A forked child that runs on to the script's end: all of this is its parent's.
            return
        self._finish(ran)
        self._note_children()
        self._leave_no_empty_folder()

    def _finish(self, ran: bool) -> None:
        if not ran:
            self._drop()
            return
        unit = self._unit.name
        early = self._ended
        if not early and self._scheduled and self._profile is None and self._capture is not None:
            self.notes.append(f"no {unit} were found, so the schedule did not apply and the whole run was recorded")
        if not early and self._capture is not None and self._join is not None and self._join.waits:
            self.notes.append(
                "operators of PyTorch were not recorded: the script never used a module, an optimizer or the GPU"
            )
        self._end(None)
        if not early and self._profile is not None and not self.traces:
            self.notes.append(f"no trace: the script ended after {self._counted} {unit}, before the schedule recorded")

    def step(self, samples: float | None = None) -> None:
        self._explicit_steps = True
        if self._unit.counts("steps"):
            self._safely(lambda: self._advance(samples))

    def epoch(self) -> None:
        if self._unit.counts("epochs"):
            self._safely(self._advance)

    def profile_starts(self, profile: object) -> None:
        if not getattr(self._here, "starts_ours", False) and not getattr(profile, "beside_a_trace", False):
            self._safely(self._step_aside)

    def wrote(self, path: str) -> None:
        self.traces.append(Path(path))

    def _torch_imported(self) -> None:
        if not self._steps.watch() and self._scheduled:
            self.notes.append("steps cannot be found: this PyTorch is older than 2.0")

    def _torch_joined(self) -> None:
        self._joined_at = time.monotonic()
        if self._seconds is None:
            self._limit(TORCH_SECONDS)
        limit = default_limit() if self._memory_gib is None else int(self._memory_gib * (1 << 30))
        if limit:
            self._memory = OperatorMemory(limit, self._memory_is_full)
            self._memory.start()

    def _framework_joined(self) -> None:
        if self._seconds is None and self._timer is None:
            self._limit(TORCH_SECONDS)

    def _say(self, note: str) -> None:
        self.notes.append(note)

    def _step_found(self) -> None:
        if not self._explicit_steps and self._unit.counts("steps"):
            self._advance()

    def _advance(self, samples: float | None = None) -> None:
        if self._ended:
            return
        self._counted += 1
        if self._profile is not None:
            with self._ours():
                self._profile.step(samples)
        elif not self._scheduled:
            if self._capture is not None:
                self._capture.step(samples)
                for join in self._beside:
                    join.step(self._counted)
        else:
            self._keep_schedule()

    def _keep_schedule(self) -> None:
        """The first step has ended: from here on the schedule says what is recorded."""
        capture, self._capture = self._capture, None
        if self._join is not None:
            self._join.stop()
        self._drop_frameworks()
        self._stop_limits()
        with self._ours():
            if capture is not None:
                capture.stop()
            self._here.starts_ours = True
            try:
                self._profile = make_profile(self._settings, self._write_scheduled, samples=SAMPLES_HZ, **self._whose())
                self._profile._recorder.with_children = self._follow and self._self_sampled is None
                self._profile.start()
            finally:
                self._here.starts_ours = False

    def _write_scheduled(self, profile: Any) -> None:
        self.traces.append(write_trace(profile, self._folder, self._settings.gzip))

    def _whose(self) -> dict[str, str]:
        """Without --trace, of all frameworks only PyTorch records."""
        return {} if self._frameworks or "framework" in self._settings.given else {"framework": "torch"}

    def _step_aside(self) -> None:
        """The script profiles itself: what was recorded so far is dropped."""
        if self._ended:
            return
        self.notes.append("the script profiles itself, so nothing else was recorded")
        self._drop()
        self._leave_no_empty_folder()

    def _drop(self) -> None:
        """End, and keep nothing."""
        self._ended = True
        self._let_go()
        self._drop_frameworks()
        with self._ours():
            if self._capture is not None:
                self._capture.stop()
            if self._profile is not None:
                self._profile.stop()

    def _leave_no_empty_folder(self) -> None:
        with contextlib.suppress(OSError):
            if self._made_folder and not any(self._folder.iterdir()):
                self._folder.rmdir()

    def _limit(self, seconds: float) -> None:
        self._timer = MainThreadTimer(seconds, lambda: self._time_is_over(seconds))
        self._timer.start()

    def _time_is_over(self, seconds: float) -> None:
        """Called between any two instructions of the main thread, perhaps in the middle of something of ours."""
        self._must_end(f"{seconds:g} s were over (--seconds)")

    def _memory_is_full(self, results_bytes: int) -> None:
        """Called as :meth:`_time_is_over` is."""
        after_s = time.monotonic() - self._joined_at
        self._must_end(
            f"{after_s:.1f} s of PyTorch's operators may take {results_bytes / (1 << 30):.1f} GiB of memory to be "
            "written (--max-memory)"
        )

    def _must_end(self, reason: str) -> None:
        self._overdue = reason
        if not getattr(self._here, "busy", 0):
            self._safely(lambda: None)

    def _end(self, reason: str | None) -> None:
        """Stop and write; ``reason`` says why before the script has ended."""
        if self._ended:
            return
        self._ended = True
        self._let_go()
        if reason is not None:
            self.notes.append(f"recording ended early: {reason}")
        with self._ours():
            self._safely(self._stop_and_save)

    def _stop_and_save(self) -> None:
        if self._profile is not None:
            self._profile.stop()
        for join in self._beside:
            path = join.finish(self._folder)
            if path is not None:
                self.traces.append(path)
        # What it holds can be large, and the script may go on for long.
        capture, self._capture = self._capture, None
        if capture is not None:
            self._safely(capture.stop)
            if self._follow and self._self_sampled is None:
                self._seen_children = capture.children
            if capture.is_empty:
                took_s = time.monotonic() - self._started_at
                self.notes.append(
                    f"no trace: the script ended after {took_s:.2f} s, before its stacks were sampled, and marked "
                    "no regions"
                )
                return
            self._folder.mkdir(parents=True, exist_ok=True)  # The script may have removed it.
            capture.save(str(self._path))
            capture.forget()
            self.traces.append(self._path)

    def _drop_frameworks(self) -> None:
        joins, self._beside = self._beside, []
        for join in joins:
            join.finish(None)

    def _let_go(self) -> None:
        """Take every hook out of the script's way."""
        if self._join is not None:
            self._join.remove()
        self._steps.stop()
        self._stop_limits()

    def _stop_limits(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._memory is not None:
            self._memory.stop()

    def _ours(self) -> AbstractContextManager[None]:
        return self._join.ours() if self._join is not None else contextlib.nullcontext()

    def _note(self, error: Exception) -> None:
        self.notes.append(str(error) if isinstance(error, StepscopeError) else f"{type(error).__name__}: {error}")

    def _safely(self, do: Callable[[], None]) -> None:
        """Call something of ours in the middle of the script, which must not notice what goes wrong."""
        if os.getpid() != self._process:
            return  # A forked child: what is recorded here is its parent's, and so is the lock.
        self._here.busy = getattr(self._here, "busy", 0) + 1
        in_main_thread = threading.current_thread() is threading.main_thread()
        try:
            with self._lock:
                do()
                if self._overdue is not None and in_main_thread and self._here.busy == 1:
                    self._end(self._overdue)
        except Exception as error:  # see above
            self._note(error)
        finally:
            self._here.busy -= 1
