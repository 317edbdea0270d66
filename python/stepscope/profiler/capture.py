"""One stretch of recording: what happens between the start and the end of one cycle of a profiler."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any

from .._native import MAX_REGIONS, Monitor, Recording
from .child_sampler import ChildSampler
from .region_stacks import ask_for_stacks, done_with_stacks
from .sampler import StackSampler
from .warn import warn_user
from .xla_engine import XlaCollector


class Capture:
    """Regions, steps, counters and Python samples of one stretch, and a framework's own results where it ran."""

    def __init__(
        self,
        monitor: Monitor | None,
        journal: str | None,
        samples_hz: float,
        with_stacks: bool = False,
        with_children: bool = False,
        collector: XlaCollector | None = None,
    ) -> None:
        self.recording = Recording(monitor, journal)
        self._monitor = monitor
        self._journal = journal
        self._samples_hz = samples_hz
        self._sampler: StackSampler | None = None
        self._with_children = with_children
        self._child_sampler: ChildSampler | None = None
        self._with_stacks = with_stacks
        self._collector = collector
        self.xplane: str | None = None
        """What JAX or TensorFlow wrote."""
        self.torch_results: Any = None
        """The ``torch.autograd.profiler.profile`` of this stretch."""
        self.torch_profile: Any = None
        """The ``torch.profiler.profile`` that made it, which may have gone on to the next stretch."""
        self.saved_path: str | None = None
        """Where the trace was written first."""
        self.saved_state: tuple[int, int] | None = None
        self.raw_path: str | None = None
        """PyTorch's file, while it is not part of a written trace yet."""
        self.torch_gave_up = False
        """Whether PyTorch tried to write its file and failed."""
        self._forget: weakref.finalize[..., Capture] | None = None
        self._directory: str | None = None

    def start(self) -> None:
        """Begins to record."""
        try:
            self.recording.start()
        except Exception as error:
            if self._journal is None:
                raise
            warn_user(f"this recording has no journal: {error}")
            self.recording.stop()
            self.recording = Recording(self._monitor, None)
            self.recording.start()
        if self._samples_hz > 0:
            self._sampler = StackSampler(self.recording, self._samples_hz)
            self._sampler.start()
        if self._samples_hz > 0 and self._with_children:
            self._child_sampler = ChildSampler(self.recording, self._samples_hz)
            self._child_sampler.start()
        if self._with_stacks:
            ask_for_stacks()
        self._start_collector()

    def step_begins(self, number: int) -> None:
        """For JAX and TensorFlow, which are told of a step when it begins."""
        if self._collector is not None:
            self._collector.step_begins(number)

    def _start_collector(self) -> None:
        if self._collector is None:
            return
        try:
            self._collector.start(self.temporary_path("xplane"), self._give_way)
        except Exception as error:
            warn_user(
                f"recording without {self._collector.title}'s profiler, so operators and kernels are not recorded: "
                f"{_first_line(error)}"
            )
            self._collector = None

    def _stop_collector(self) -> bool:
        """Whether there is something that was not there before."""
        collector, self._collector = self._collector, None
        if collector is None:
            return False
        try:
            self.xplane = collector.stop()
        except Exception as error:
            warn_user(f"what {collector.title}'s profiler recorded is lost: {_first_line(error)}")
        return self.xplane is not None

    def _give_way(self) -> None:
        """The program starts the same profiler itself."""
        title = self._collector.title if self._collector is not None else ""
        if self._stop_collector():
            warn_user(
                f"{title}'s own profiler was started while this one ran, and there can be one at a time: this one has "
                "operators up to here, and regions, counters and samples to its end"
            )

    def stop(self) -> None:
        """Ends; what was recorded can be written from now on."""
        try:
            if self._with_stacks:
                done_with_stacks()
            if self._child_sampler is not None:
                self._child_sampler.stop()
            if self._sampler is not None:
                self._sampler.stop()
        finally:
            try:
                self.recording.stop()
            finally:
                # Last: it takes a while to put its file together, which is no part of the recording.
                self._stop_collector()
        lost = self.recording.lost_regions
        if lost:
            warn_user(
                f"{lost:,} regions are not in the trace: a recording has room for {MAX_REGIONS:,}; "
                "record fewer steps with a schedule, or use coarser regions"
            )

    def forget_after_fork(self) -> None:
        """In a forked child: the recording is the parent's."""
        self._collector = None
        self.recording.forget_after_fork()
        for sampler in (self._sampler, self._child_sampler):
            if sampler is not None:
                sampler.forget_after_fork()

    def keep_raw(self, path: str) -> None:
        """PyTorch's own file goes here; it is removed at the latest with this capture."""
        self.raw_path = path
        self._forget = weakref.finalize(self, _remove_file, path, os.getpid())

    def forget_raw(self) -> None:
        """PyTorch's own file is not needed any more."""
        self.raw_path = None
        if self._forget is not None:
            self._forget()

    def temporary_path(self, name: str) -> str:
        """A place for a file that lives as long as this capture."""
        if self._directory is None:
            self._directory = tempfile.mkdtemp(prefix="stepscope-")
            weakref.finalize(self, _remove_directory, self._directory, os.getpid())
        return os.path.join(self._directory, name)


def _first_line(error: Exception) -> str:
    """What an error says, without the stack of C++ functions that some have below it."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


def _remove_file(path: str, owner: int) -> None:
    if os.getpid() != owner:
        return
    # PyTorch writes to the second name first, and leaves it behind when the disk is full.
    for name in (path, path + ".tmp"):
        if os.path.exists(name):
            os.remove(name)


def _remove_directory(path: str, owner: int) -> None:
    # A forked child runs the same clean-up at its end; the files are its parent's.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
