"""What is recorded while ``stepscope run`` runs a script, and how that changes on the way.

It begins with a recording of everything. Once the program iterates, nothing is attached to it for a while and its
iterations are timed; when they are steady, a few are recorded, and that is the trace (:mod:`.iteration_clock`). If that
is never reached, what was recorded at first is kept: all of a short program. If a schedule is asked for, the end of the
first step begins it. Nothing in here may disturb the script: what goes wrong becomes a note in the report.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import tempfile
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from .._current_run import CurrentRun
from .._native import now_ns, phases_text
from .._writing import cannot_write
from ..config.profiling import ScheduleUnit, make_profile, path_of_run, write_trace
from ..config.settings import Settings
from ..profiler.bare_steps import BareSteps
from ..profiler.frameworks import XLA_NAMES
from ..profiler.metadata import program_metadata
from ..profiler.transitions import records
from .children import Children, words_about
from .framework_join import FrameworkJoin
from .iteration_clock import WARM_UP, IterationClock
from .iterations import JAX_CALLS, Iterations
from .own_work import OwnWork
from .phases import KEY as PHASES_KEY
from .phases import Phases
from .program_capture import ProgramCapture
from .recording_limits import BEGINNING_BYTES, RecordingLimits
from .sampled_child import why_not_read
from .self_sampled import SelfSampled
from .stretch import Stretch
from .torch_join import TorchJoin
from .window import SAMPLES_HZ, Window, beginning_is_over, samples_hz


class ScriptRecorder(CurrentRun):
    """Records one run; :attr:`traces` and :attr:`notes` say what came of it."""

    def __init__(
        self,
        program: str,
        settings: Settings,
        output: Path,
        seconds: float | None,
        memory_gib: float | None = None,
        follow: bool = True,
        window: Window | None = None,
        stop: bool = False,
    ) -> None:
        if not settings.has_schedule:
            # No one chose: what most answers need.
            settings = dataclasses.replace(
                settings,
                record_shapes=settings.record_shapes or "record_shapes" not in settings.given,
                profile_memory=settings.profile_memory or "profile_memory" not in settings.given,
            )
        self._program = program
        self._settings = settings
        self._unit = ScheduleUnit(settings)
        self._folder = output
        self._follow = follow
        self._phases = Phases()
        #: What times iterations and says which are recorded; None: all are.
        self._clock = None
        if window is not None and not settings.has_schedule:
            self._clock = IterationClock(window, self._phases, self._group)
        self._limits = RecordingLimits(seconds, memory_gib, self._clock is not None, self._limit_reached)
        #: Whether the script ends when its window is over.
        self._stop = stop
        #: Whether the trace of the window that is open was written.
        self._window_is_over = False
        self._beside: FrameworkJoin | None = None
        self._self_sampled: SelfSampled | None = None
        self._seen_children: tuple[list[str], int, str | None] | None = None
        self._stretch = Stretch()
        #: Children that were started while stacks were sampled; None: they still are.
        self._started_children: int | None = None
        self.traces: list[Path] = []
        self.notes: list[str] = []
        #: What only someone who asked for a report wants to know.
        self.remarks: list[str] = []
        self.words: list[str] = []  # the program as one would type it
        self._work = OwnWork(self.notes, self._phases.add_own)
        self.soon = self._work.soon
        self._capture: ProgramCapture | None = None
        self._profile: Any = None
        self._explicit_steps = False
        #: Whether what an iteration is cannot change any more.
        self._settled = False
        self._counted = 0
        #: When the latest iteration ended.
        self._last_ended_ns = 0
        #: Whether the script has ended, and in it what was being recorded.
        self._ending = self._ended = False
        self._made_folder = False
        #: In this thread, whether a profiler of PyTorch that starts is ours.
        self._here = threading.local()
        self._iterations = Iterations(lambda first: self._work.safely(lambda: self._iteration_found(first)))
        self._join: TorchJoin | None = None
        self._children = Children()
        self._started_at = self._first_at = 0.0

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

    def traces_in_folder(self) -> set[Path]:
        """Traces that are in the folder by now, whoever recorded them."""
        return set(self._folder.glob("*.pt.trace.json*"))

    def start(self) -> None:
        """Begin to record."""
        self._started_at = time.monotonic()
        self._work.safely(self._start)
        self._phases.begin()

    def _start(self) -> None:
        self._children.start()
        self._path = path_of_run(self._folder, self._program, self._settings.gzip)
        journal = str(self._path)[: -len(".gz")] if self._settings.gzip else str(self._path)
        unread = why_not_read() if self._follow else None
        if unread is not None:
            self._self_sampled = SelfSampled(unread, self._path, self._settings.gzip)
        self._capture = ProgramCapture(
            self._settings,
            journal.replace(".pt.trace.json", ".unfinished.pt.trace.json"),
            self._follow and unread is None,
            self.notes.append,
            lambda: self._work.safely(self._limits.framework_joined),
        )
        self._capture.metadata = program_metadata(self.words or [self._program])
        self._capture.start()
        self._limits.start()
        self._join = TorchJoin(
            self._capture,
            lambda: self._end("the script started PyTorch's profiler itself"),
            self._work.safely,
            imported=self._torch_imported,
            joined=self._limits.torch_joined,
        )
        self._join.start()
        asked = self._settings.framework
        self._beside = FrameworkJoin(self._capture, set(XLA_NAMES) if asked == "auto" else {asked}, self._work.safely)
        self._work.safely(self._beside.start)
        self._work.safely(self._iterations.watch_xla)

    def _note_children(self) -> None:
        started = self._children.stop() if self._started_children is None else self._started_children
        if self._self_sampled is None:
            notes, remarks = words_about(started, self._seen_children)
            self.notes += notes
            self.remarks += remarks
            return
        self.notes += self._self_sampled.stop(started)

    def finish(self, ran: bool = True) -> None:
        """The script has ended: write what was recorded, if it ``ran`` at all."""
        if self._work.in_forked_child:
            self.notes.clear()  # A forked child that runs on to the script's end: all of this is its parent's.
            return
        self._finish(ran)
        self._note_children()
        self._leave_no_empty_folder()

    def _finish(self, ran: bool) -> None:
        if not ran:
            self._drop()
            return
        unit, early = self._unit.name, self._ended
        if not early and self._scheduled and self._profile is None and self._capture is not None:
            self.notes.append(f"no {unit} were found, so the schedule did not apply and the whole run was recorded")
        waits = self._join is not None and self._join.waits
        if not early and waits and self._capture is not None and not self._capture.has_operators:
            self.notes.append(
                "operators of PyTorch were not recorded: the script never used a module, an optimizer or the GPU"
            )
        self._ending = True
        self._end(None)
        if early:
            return
        self._say_phases()
        if self._clock is not None and self._clock.was_started and not self._clock.windows and self.traces:
            where = self._stretch.where
            self.notes.append(f"{self._why_no_window()}: operators are recorded {where} (--whole records all)")
        if self._scheduled and self._profile is not None and not self.traces:
            self.notes.append(f"no trace: the script ended after {self._counted} {unit}, before the schedule recorded")

    def _why_no_window(self) -> str:
        ended = f"the script ended after {self._total} iterations, before steady ones were recorded"
        return ended if self._counted else "no iterations were found"

    def _say_phases(self) -> None:
        """What the program went through, in the words of its trace."""
        text = self._phases.text(self._last_ended_ns)
        words = None if text is None else phases_text(text)
        self.remarks += [] if words is None else [words]

    def step(self, samples: float | None = None) -> None:
        if self._unit.counts("steps"):
            self._work.safely(lambda: self._marked_step(samples))

    def _marked_step(self, samples: float | None) -> None:
        if not self._explicit_steps:
            if self._settled:
                return
            self._explicit_steps = True
            self._count_anew()
        self._advance(samples)

    def epoch(self) -> None:
        if self._unit.counts("epochs"):
            self._work.safely(lambda: self._marked_step(None))

    def profile_starts(self, profile: object) -> None:
        if not getattr(self._here, "starts_ours", False) and not getattr(profile, "beside_a_trace", False):
            self._work.safely(self._step_aside)

    def wrote(self, path: str) -> None:
        self.traces.append(Path(path))

    def _torch_imported(self) -> None:
        if not self._iterations.watch(sys.modules["torch"]) and self._scheduled:
            self.notes.append("steps cannot be found: this PyTorch is older than 2.0")

    def _iteration_found(self, first: bool) -> None:
        if self._work.depth > 1:
            return  # Steps that we mark for JAX's profiler are not the program's.
        if not self._explicit_steps and self._unit.counts("steps"):
            if first:
                self._count_anew()
            self._advance()

    def _count_anew(self) -> None:
        """Batches, say, were counted so far, and now an optimizer steps: the two are not mixed."""
        if not self._counted or self._ended:
            return
        self._counted, self._phases.start_up = 0, None
        if self._profile is not None:
            # A schedule that has recorded nothing yet; see `_settle`.
            with self._ours():
                self._profile.stop()
                self._start_profile(self._settings)
        elif self._capture is not None:
            self._capture.drop_steps()

    def _settle(self) -> None:
        """From here on an iteration stays what it is."""
        self._settled = True
        self._work.is_timed = False
        self._iterations.settle()

    def _group(self, length: int) -> int:
        if self._explicit_steps or not self._iterations.group(length):
            return 0
        self._counted //= length
        return self._total

    @property
    def _total(self) -> int:
        """Iterations that have ended, those included that were not known to be iterations then."""
        return self._counted + (0 if self._explicit_steps else self._iterations.before)

    def _advance(self, samples: float | None = None) -> None:
        if self._ended:
            return
        self._last_ended_ns = now_ns()
        self._counted += 1
        if self._counted == 1:
            self._first_at = time.monotonic()
            found_ns = self._iterations.first_ended_ns
            self._phases.first_ended_ns = self._last_ended_ns if self._explicit_steps else found_ns
        if self._profile is not None:
            self._step_profile(self._profile, samples)
        elif self._clock is not None and self._clock.runs:
            if self._counted == 1:
                self._end_stretch()
                self._clock.start(self._total)
            elif self._clock.iteration_ended(self._total, self._last_ended_ns):
                self._open_window(self._clock)
        elif self._scheduled:
            self._keep_schedule()
        elif self._capture is not None:
            self._capture.step(samples)
            if self._clock is not None and self._capture.has_operators:
                if beginning_is_over(self._counted, time.monotonic() - self._first_at):
                    self._rest()

    def _step_profile(self, profile: Any, samples: float | None) -> None:
        is_full = self._clock is not None and self._clock.is_full(self._total - self._cut_iterations)
        with self._ours():
            if not is_full:
                profile.step(samples)
            if is_full or self._window_is_over:
                self._leave_window()
            elif not self._settled and records(profile.current_action):
                self._settle()

    def _keep_schedule(self) -> None:
        """The first step has ended: from here on the schedule says what is recorded."""
        self._learn_start_up()
        capture, self._capture = self._capture, None
        if self._join is not None:
            self._join.stop()
        self._stop_limits()
        with self._ours():
            if capture is not None:
                capture.stop()
            self._start_profile(self._settings)

    def _rest(self) -> None:
        """The beginning is over: the profilers of frameworks leave, and iterations are timed without them."""
        if self._clock is None or self._clock.was_started or self._ended or self._capture is None:
            return
        if self._join is not None:
            self._join.stop()
        self._stop_limits()
        with self._ours():
            self._capture.stop_operators()
        self._clock.start(self._total)
        if not self._counted and self._capture.has_torch:
            self._stretch.expect(lambda: self._work.soon(self._begin_stretch))

    def _begin_stretch(self, loops_are_watched: bool = False) -> None:
        if self._counted or self._ended or self._capture is None:
            return
        if not loops_are_watched and self._iterations.watch_loops(sys._getframe()):
            self._stretch.wait(lambda: self._work.soon(lambda: self._begin_stretch(True)))
            return
        with self._ours():
            self._capture.begin_anew(sys.modules["torch"])
        self._stretch.begin(BEGINNING_BYTES, lambda: self._work.soon(self._end_stretch))

    def _end_stretch(self) -> None:
        if self._stretch.began_s is None or self._ended or self._capture is None:
            return
        self._stretch.stop()
        capture, self._capture = self._capture, None
        with self._ours():
            self._save(capture, {})

    def _open_window(self, clock: IterationClock) -> None:
        """The iterations are steady: record some of them. One before them warms the profiler up."""
        self._settle()
        self._learn_start_up()
        bare, active = clock.open(self._total)
        settings = dataclasses.replace(self._settings, wait=0, warmup=WARM_UP, active=active, repeat=1, skip_first=0)
        self._window_is_over = False
        with self._ours():
            self._start_profile(settings, bare, samples_hz(active * clock.usual_ns[-1]))

    def _leave_window(self) -> None:
        profile, self._profile = self._profile, None
        profile.stop()
        capture, self._capture = self._capture, None
        if capture is not None:
            # No one asks for its samples any more, and those of hours would fill the memory.
            if self._self_sampled is None:
                self._started_children = self._children.stop()
            self._work.safely(capture.stop)
            capture.forget()
        if self._clock is not None:
            self._clock.close(self._total)
        if self._stop and threading.current_thread() is threading.main_thread():
            raise SystemExit(0)

    def _learn_start_up(self) -> None:
        if self._capture is not None:
            self._phases.start_up = self._capture.start_up(self._phases)

    def _about_iterations(self) -> dict[str, str]:
        """What the trace says about the run that it is a part of, as JSON texts."""
        found_by = "the program" if self._explicit_steps else self._iterations.words
        about = {"found_by": found_by, "before": self._total}
        return {"stepscope_iterations": json.dumps(about), **program_metadata(self.words or [self._program])}

    @property
    def _cut_iterations(self) -> int:
        """Counted at the end of a call, they begin with it: the first has no beginning in the recording, the last no
        end."""
        return 2 if not self._explicit_steps and self._iterations.kind == JAX_CALLS else 0

    def _start_profile(self, settings: Settings, bare: BareSteps | None = None, hz: float = SAMPLES_HZ) -> None:
        settings = dataclasses.replace(settings, active=settings.active + self._cut_iterations)
        self._here.starts_ours = True
        try:
            self._profile = make_profile(settings, self._write_scheduled, samples=hz)
            self._profile.bare_steps = bare
            for key, value in self._about_iterations().items():
                self._profile.preset_metadata_json(key, value)
            self._profile._recorder.with_children = self._follow and self._self_sampled is None
            self._profile.start()
        finally:
            self._here.starts_ours = False

    def _write_scheduled(self, profile: Any) -> None:
        capture = profile._recorder.finished
        phases = self._phases.text(last_step_is_cut=self._ending)
        if phases is not None:
            capture.entries[PHASES_KEY] = phases
        if self._clock is None:
            path = path_of_run(self._folder, self._program, self._settings.gzip)
            self.traces.append(write_trace(profile, self._folder, self._settings.gzip, path))
            return
        whole = self._clock.recorded(self._total) - self._cut_iterations
        if self._ending and whole <= 0:
            return  # What was recorded at the program's beginning has more.
        path, number = self._path, self._clock.windows + 1
        if number > 1:
            path = Path(str(path).replace(".pt.trace.json", f"-{number}.pt.trace.json"))
        if path in self.traces:  # A stretch from before there were iterations: it is written over.
            self.traces.remove(path)
        self.traces.append(write_trace(profile, self._folder, self._settings.gzip, path))
        self._window_is_over, self._clock.windows = True, number
        if number > 1:
            self.notes.append(f"{self._clock.why_again}, so some were recorded again: {path.name}")
        elif self._follow and self._self_sampled is None:
            self._seen_children = capture.recording.children
        if self._ending:
            many = "1 whole one was" if whole == 1 else f"{whole} whole ones were"
            self.notes.append(f"the script ended while iterations were recorded: {many}")

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
        with self._ours():
            if self._capture is not None:
                self._capture.stop()
            if self._profile is not None:
                self._profile.stop()

    def _leave_no_empty_folder(self) -> None:
        with contextlib.suppress(OSError):
            if self._made_folder and not any(self._folder.iterdir()):
                self._folder.rmdir()

    def _limit_reached(self, reason: str | None) -> None:
        self._work.soon(self._rest if reason is None else lambda: self._end(reason))

    def _end(self, reason: str | None) -> None:
        """Stop and write; ``reason`` says why before the script has ended."""
        if self._ended:
            return
        self._ended = True
        self._let_go()
        if reason is not None:
            self.notes.append(f"recording ended early: {reason}")
        with self._ours():
            self._work.safely(self._stop_and_save)

    def _stop_and_save(self) -> None:
        self._learn_start_up()
        if self._profile is not None:
            self._profile.stop()
        if self._clock is not None:
            self._clock.stop(self._total)
        if self._counted and not (self._clock is not None and self._clock.was_started):
            self._phases.add_recorded(self._total - 1)
        phases = self._phases.text(self._last_ended_ns if self._ending else None)
        # What it holds can be large, and the script may go on for long.
        capture, self._capture = self._capture, None
        if capture is not None:
            self._save(capture, {} if phases is None else {PHASES_KEY: phases})

    def _save(self, capture: ProgramCapture, entries: dict[str, str]) -> None:
        self._work.safely(capture.stop)
        if self._window_is_over:
            capture.forget()
            return
        if self._follow and self._self_sampled is None:
            self._seen_children = capture.children
        if capture.is_empty:
            why = "before its stacks were sampled, and marked no regions"
            self.notes.append(f"no trace: the script ended after {time.monotonic() - self._started_at:.2f} s, {why}")
            return
        self._folder.mkdir(parents=True, exist_ok=True)  # The script may have removed it.
        capture.save(str(self._path), entries)
        capture.forget()
        self.traces.append(self._path)

    def _let_go(self) -> None:
        """Take every hook out of the script's way."""
        if self._join is not None:
            self._join.remove()
        if self._beside is not None:
            self._beside.stop()
        self._iterations.stop()
        self._stop_limits()

    def _stop_limits(self) -> None:
        self._limits.stop()
        self._stretch.stop()

    def _ours(self) -> AbstractContextManager[None]:
        return self._join.ours() if self._join is not None else contextlib.nullcontext()
