"""The profiler: a context manager that records a program's steps, with the profiler of its framework if it has one."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import weakref
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Callable

from .._current_run import current_run
from .._native import now_ns, take_overlapping
from .._samples import checked_samples
from .._step_times import profiling_began, step_ended
from ..errors import StepscopeError
from . import forks, frameworks, torch_engine
from .abandoned import StartPlace
from .actions import ProfilerAction, Schedule, StepPlan, as_action, record_always
from .activities import ProfilerActivity, chosen_activities, parse_activities, torch_activities
from .bare_steps import BareSteps
from .capture import Capture
from .metadata import OURS
from .recorder import MonitorChoice, Recorder, check_monitor
from .results import Results
from .torch_engine import check_newer_options
from .torch_guard import TorchGuard
from .transitions import Move, moves_between, records
from .warn import warn_user
from .xla_engine import COLLECTORS, XlaCollector, wait_for_devices

SAMPLES_HZ_WITH_STACK = 100.0
"""How often stacks are looked at if ``with_stack=True`` and PyTorch is not there to record them itself."""


class profile(Results):
    """Records what a program does, step by step.

    It takes the arguments of ``torch.profiler.profile`` and has its methods. If the program has imported PyTorch when
    the profiler starts, PyTorch's own profiler records operators and kernels, and so do those of JAX and TensorFlow
    if the program uses them; regions, counters of the machine and its GPUs, and Python samples are in the same trace,
    on the same clock. Where JAX or TensorFlow works and PyTorch does not, :func:`stepscope.tensorboard_trace_handler`
    and :meth:`export_xplane` write its own XPlane file. Without any of them regions, steps, counters and samples are
    what is recorded.

    ``framework``: "torch", "jax", "tensorflow" or "none" instead of those that the program uses.

    ``monitor``: whether to watch the machine; also an interval in seconds, or a ``Monitor`` to share.
    ``samples``: looks at the Python stacks a second. Without PyTorch ``with_stack=True`` means 100, and that each
    region notes the functions it is entered from, which takes it some microseconds.
    ``journal``: a file that is readable if the process is killed.

    Your program is left alone: its results and exceptions stay as they are, and if something of ours fails, that is a
    :class:`stepscope.StepscopeWarning`.

    >>> from stepscope import profile, record_function
    >>> with profile(monitor=False) as prof:
    ...     for batch in range(3):
    ...         with record_function("forward"):
    ...             _ = sum(range(1000))
    ...         prof.step()
    >>> sorted(event.key for event in prof.key_averages())
    ['ProfilerStep*', 'forward']
    """

    def __init__(
        self,
        activities: Iterable[object] | None = None,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[Any], object] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        *,
        monitor: MonitorChoice = True,
        samples: float | None = None,
        journal: str | os.PathLike[str] | None = None,
        framework: str | None = None,
        **newer_torch_options: Any,
    ) -> None:
        check_newer_options(newer_torch_options, inspect.signature(profile.__init__).parameters)
        self._asked = None if activities is None else parse_activities(activities)
        self._use_cuda = use_cuda
        chosen_activities(self._asked, use_cuda)
        check_monitor(monitor)
        self._framework = frameworks.checked(framework)
        if samples is not None and samples < 0:
            raise StepscopeError(
                f"samples={samples} is not a number of samples per second", hint="use for example 100, or 0 for none"
            )
        self.schedule: Schedule = schedule or record_always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self._newer_torch_options = newer_torch_options
        self._samples = samples
        self._metadata: dict[str, str] = dict(OURS)
        self._recorder = Recorder(monitor, None if journal is None else os.fspath(journal), 0.0)
        self._inner: Any = None
        self._torch: Any = None
        self._beside_xla = False
        self._without_results: Capture | None = None
        self._guard = TorchGuard(_weakly(self._give_way))
        self.started_at: StartPlace | None = None
        self._running = False
        self._in_child = False
        self._told_not_running = False
        self._step_start_ns = 0
        self._step_is_marked = False
        self._plan = StepPlan(self.schedule)
        self.bare_steps: BareSteps | None = None
        """Steps that were timed before anything was recorded."""
        self.step_num = 0
        self._action = self._plan(0)

    @property
    def current_action(self) -> ProfilerAction:
        """What is done in this step."""
        return self._action if self._inner is None else as_action(self._inner.current_action)

    @property
    def activities(self) -> set[ProfilerActivity]:
        """What is recorded."""
        return chosen_activities(self._asked, self._use_cuda)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop(leaving=True)

    def start(self) -> None:
        """Begins; what is recorded from here on is up to the schedule."""
        if self._in_child:
            return
        if self._running:
            warn_user("the profiler is already running")
            return
        run = current_run()
        if run is not None:
            # `stepscope run` records already: it gives way, so that PyTorch's profiler is free.
            run.profile_starts(self)
        profiling_began()
        self.started_at = StartPlace()
        self._choose_framework()
        hz = self._samples
        if hz is None:
            # Where a framework records, it records Python's calls too.
            alone = self._inner is None and not frameworks.xla_frameworks(self._framework)
            hz = SAMPLES_HZ_WITH_STACK if self.with_stack and alone else 0.0
        self._recorder.samples_hz = hz
        self._recorder.with_stacks = self.with_stack and self._inner is None
        self._running = True
        if self.bare_steps is None and self._action is ProfilerAction.NONE:
            self.bare_steps = BareSteps(self._torch, wait_for_devices)
        forks.watch(self)
        self._advance(ProfilerAction.NONE, self._action, lambda inner: inner.start())
        self._begin_step()

    def step(self, samples: float | None = None) -> None:
        """The next step begins. Call it at the end of each iteration. ``samples`` says how many samples it worked
        through (the batch), so that samples per second are known."""
        samples = checked_samples(samples)
        step_ended("profile", samples)
        if not self._running:
            self._warn_not_running()
            return
        self._recorder.samples(samples, self._step_start_ns, now_ns())
        if not self._torch_marks_steps:
            self._mark_step()
        before = self._action
        self.step_num += 1
        self._action = self._plan(self.step_num)
        if self.bare_steps is not None:
            self.bare_steps.step_ended(before is ProfilerAction.NONE, self._action is ProfilerAction.NONE)
        self._advance(before, self._action, lambda inner: inner.step())
        self._begin_step()

    def stop(self) -> None:
        """Ends; a trace that is being recorded is handed over."""
        self._stop(leaving=False)

    def _stop(self, leaving: bool) -> None:
        if not self._running:
            return
        if self.record_steps and not self._torch_marks_steps:
            self._mark_step()
        self._running = False
        forks.unwatch(self)
        try:
            end = (lambda inner: inner.__exit__(None, None, None)) if leaving else (lambda inner: inner.stop())
            self._advance(self._action, None, end)
        finally:
            self._recorder.rest()
            self._let_go_of_torch()

    def __del__(self) -> None:
        # No one has it any more, so no one can stop it; PyTorch's profiler would be taken for the rest of the process.
        if not self.__dict__.get("_running") or self._in_child or sys.is_finalizing():
            return
        try:
            warn_user(f"the profiler that was started at {self.started_at} was dropped while it ran; it is ended now")
            if self.started_at is None or self.started_at.thread == threading.get_ident():
                self.stop()
        except Exception:
            # A warning may be an error, and there is no one to raise it to.
            self._let_go_of_torch()

    @property
    def _torch_marks_steps(self) -> bool:
        """PyTorch does if it has a schedule. Beside JAX it may turn out to do nothing else, so the steps are ours
        there."""
        return self._inner is not None and self.record_steps and not self._beside_xla

    def _begin_step(self) -> None:
        self._guarded(lambda: self._recorder.step_begins(self.step_num))
        self._step_start_ns = now_ns()

    def _mark_step(self) -> None:
        """The step that ends now, unless PyTorch has marked what it saw of it."""
        if not self._step_is_marked:
            self._recorder.step(self.step_num, self._step_start_ns, now_ns())
        self._step_is_marked = False

    def _let_go_of_torch(self) -> None:
        self._guard.remove()
        torch_engine.release(self)

    def _advance(self, before: ProfilerAction, after: ProfilerAction | None, drive: Callable[[Any], None]) -> None:
        """From one action to the next: PyTorch's profiler tells what happens when it takes part."""
        if self._inner is None:
            self._carry_out(moves_between(before, after))
            return
        if after not in (None, ProfilerAction.NONE):
            # Before PyTorch records, so that this is not part of the trace.
            self._guarded(self._recorder.prepare)
        if after is ProfilerAction.WARMUP:
            self._guarded(self._recorder.warm_up)
        try:
            drive(self._inner)
        except Exception as error:
            if self._in_child:
                return
            warn_user(f"PyTorch's profiler failed, and recording goes on without it: {error}")
            self._leave_torch(before, after)

    def _carry_out(self, moves: list[Move]) -> None:
        for move in moves:
            if move is Move.PREPARE:
                self._guarded(self._recorder.prepare)
                self._guarded(self._recorder.warm_up)
            elif move is Move.START:
                self._guarded(self._recorder.begin)
            elif move is Move.STOP:
                self._guarded(self._tell_bare_steps)
                self._guarded(self._recorder.end)
            else:
                self.hand_over()

    def _leave_torch(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """PyTorch's profiler is of no use any more: what is open is brought to where it should be."""
        inner, self._inner = self._inner, None
        torch_engine.put_in_order(self._torch, inner)
        self._let_go_of_torch()
        torch_engine.keep_regions()
        self._recorder.with_stacks = self.with_stack
        unsaved, self._without_results = self._without_results, None
        if self._recorder.open is not None and (before is ProfilerAction.RECORD_AND_SAVE or not records(after)):
            unsaved = self._recorder.open
            self._carry_out([Move.STOP])
        if unsaved is not None and (before is ProfilerAction.RECORD_AND_SAVE or after is None):
            self.hand_over()
        if records(after) and self._recorder.open is None:
            self._carry_out([Move.START])

    def _give_way(self) -> None:
        """The program starts PyTorch's own profiler in the middle of this: what this one has of operators is kept."""
        if self._inner is None or self._in_child:
            return
        if self.started_at is not None and self.started_at.thread != threading.get_ident():
            self._guard.remove()
            warn_user(
                "PyTorch's own profiler was started in another thread while this one ran: operators may be missing "
                "from both; run one profiler at a time"
            )
            return
        inner, self._inner = self._inner, None
        torch_engine.keep_regions()
        self._let_go_of_torch()
        capture = self._recorder.open
        kept = "no operators are recorded by this one"
        if capture is not None or self._action is ProfilerAction.WARMUP:
            try:
                results = torch_engine.end_early(self._torch, inner)
            except Exception as error:
                results, kept = None, f"its operators are lost: {error}"
            if capture is not None and results is not None:
                capture.torch_results = results
                self._step_is_marked = self.record_steps
                kept = "this one has operators up to here, and regions, counters and samples to its end"
        warn_user(f"PyTorch's own profiler was started while this one ran, and there can be one at a time: {kept}")

    def _choose_framework(self) -> None:
        self._recorder.make_collectors = _weakly(self._collectors, [])
        xla = frameworks.xla_frameworks(self._framework)
        self._beside_xla = any(frameworks.in_use(name) for name, _ in xla)
        torch_is_meant = self._framework == "torch" or (self._framework is None and not xla)
        if torch_is_meant or (self._framework is None and torch_engine.torch_if_imported() is not None):
            self._choose_torch()
        else:
            self._inner = None

    def _collectors(self) -> list[XlaCollector]:
        """The profilers of JAX and TensorFlow for the next capture. One profiler at a time can see a device."""
        devices = self._asked is None or set(self._asked) != {ProfilerActivity.CPU}
        if self._inner is not None and torch_engine.uses_device(self._torch):
            devices = False
        found = []
        for name, waits in frameworks.xla_frameworks(self._framework):
            found.append(
                COLLECTORS[name](
                    python_calls=self.with_stack,
                    devices=devices,
                    keeps_last_step=self.record_steps,
                    waits=waits,
                )
            )
            devices = devices and not frameworks.in_use(name)
        return found

    def _choose_torch(self) -> None:
        torch = torch_engine.torch_if_imported()
        if torch is None:
            devices = sorted(activity.name for activity in self._asked or () if activity is not ProfilerActivity.CPU)
            if devices:
                warn_user(
                    f"work on {', '.join(devices)} is recorded by PyTorch, which this program has not imported: "
                    "the trace holds the host, and GPUs only as counters"
                )
            return
        torch_engine.end_abandoned()
        taken = torch_engine.why_torch_is_taken(torch)
        if taken is not None:
            self._inner = None
            warn_user(
                f"recording without PyTorch, because {taken}: steps, counters and samples are recorded, "
                "operators and kernels are not"
            )
            return
        try:
            if self._inner is None:
                self._inner = torch_engine.make_inner(torch, self, self._torch_options(torch))
                self._inner.record_steps = self.record_steps and not self._beside_xla
                self._torch = torch
                for key, value in self._metadata.items():
                    self._inner.preset_metadata_json(key, value)
            torch_engine.claim(self)
            self._guard.install(torch)
        except Exception as error:
            warn_user(f"PyTorch's profiler cannot be used, and recording goes on without it: {error}")

    def _torch_options(self, torch: Any) -> dict[str, Any]:
        options: dict[str, Any] = {
            "record_shapes": self.record_shapes,
            "profile_memory": self.profile_memory,
            "with_stack": self.with_stack,
            "with_flops": self.with_flops,
            "with_modules": self.with_modules,
        }
        chosen = self.activities if self._asked or self._use_cuda is not None else None
        if chosen is None and self._beside_xla and not torch_engine.uses_device(torch):
            chosen = {ProfilerActivity.CPU}  # The device is the other's, and so is what its profiler sees of it.
        if chosen is not None:
            if not torch_engine.can_record(torch, chosen):
                # PyTorch would refuse; nothing to look at helps no one.
                warn_user(
                    f"there is no {' or '.join(sorted(activity.name for activity in chosen))} device here: PyTorch's "
                    "operators on the CPU are recorded instead"
                )
                chosen = {ProfilerActivity.CPU}
            options["activities"], absent = torch_activities(torch, chosen, self._asked)
            if absent:
                names = ", ".join(activity.name for activity in absent)
                warn_user(f"PyTorch {torch.__version__} cannot record {names}")
        if self.record_steps:
            options["schedule"] = self._plan
        # Newer arguments are passed on only where they are used: older versions do not have them.
        for name in ("experimental_config", "execution_trace_observer", "acc_events", "custom_trace_id_callback"):
            if getattr(self, name):
                options[name] = getattr(self, name)
        return {**options, **self._newer_torch_options}

    def torch_started(self) -> None:
        """PyTorch records from now on."""
        # Ending during a warm-up, PyTorch starts and stops once more; nothing of that is to be kept.
        if self.current_action in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            return
        if not self._beside_xla:
            torch_engine.send_regions_to_torch(self._torch)
        self._guarded(self._recorder.begin)

    def torch_stopping(self) -> None:
        """PyTorch is about to end its recording, and to work out its results, which is not to be recorded."""
        torch_engine.keep_regions()
        self._warn_of_overlapping()
        self._guarded(self._tell_bare_steps)
        self._without_results = self._recorder.open
        self._guarded(self._recorder.end)

    def torch_stopped(self, results: Any) -> None:
        """PyTorch has ended it and has results."""
        capture, self._without_results = self._without_results, None
        if capture is None or (self._beside_xla and torch_engine.did_nothing(results)):
            return
        capture.torch_results = results
        capture.torch_profile = self._inner
        capture.torch_marks_steps = self._torch_marks_steps

    def hand_over(self) -> None:
        """A trace is complete: the handler gets it. If that fails, training goes on."""
        if self.on_trace_ready is None or self._in_child or self._recorder.finished is None:
            return
        try:
            self.on_trace_ready(self)
        except Exception as error:
            warn_user(f"on_trace_ready failed after step {self.step_num}: {type(error).__name__}: {error}")

    def turn_off_in_child(self) -> None:
        """In a forked child: forget what runs, do nothing from now on."""
        self._in_child = True
        self._running = False
        self._inner = None
        self._recorder.forget()

    def _tell_bare_steps(self) -> None:
        if self.bare_steps is not None:
            for key, value in self.bare_steps.metadata().items():
                self.add_metadata_json(key, value)

    def _warn_of_overlapping(self) -> None:
        overlapping = take_overlapping()
        if overlapping:
            warn_user(
                f"{overlapping} regions ended while one was open that had been entered after them: PyTorch takes "
                "regions of a thread for nested, so their parents and own times are wrong"
            )

    def _guarded(self, do: Callable[[], None]) -> None:
        """What fails here is our affair, not the program's."""
        try:
            do()
        except Exception as error:
            warn_user(f"the recording is incomplete: {error}")

    def _warn_not_running(self) -> None:
        if not self._in_child and not self._told_not_running:
            self._told_not_running = True
            warn_user("step() has no effect: the profiler is not running")

    def _finished(self) -> Capture:
        capture = self._recorder.finished
        if capture is not None:
            return capture
        if self._recorder.open is not None:
            raise StepscopeError(
                "the profiler is still recording", hint="ask after the with block, or in on_trace_ready"
            )
        raise StepscopeError(
            "nothing has been recorded",
            hint="use `with profile() as prof:`; with a schedule, call prof.step() until it has recorded",
        )

    def _as_torch_activities(self, activities: Any) -> list[Any]:
        return torch_activities(self._torch, set(parse_activities(activities)))[0]

    def __getattr__(self, name: str) -> Any:
        # What newer versions of PyTorch's profiler have and this class does not know.
        inner = self.__dict__.get("_inner")
        if inner is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(inner, name)


def _weakly(method: Callable[[], Any], otherwise: Any = None) -> Callable[[], Any]:
    """Calls a method of an object that it does not keep alive."""
    held = weakref.WeakMethod(method)

    def call() -> Any:
        found = held()
        return otherwise if found is None else found()

    return call
