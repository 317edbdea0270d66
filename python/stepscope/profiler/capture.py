"""One stretch of recording: what happens between the start and the end of one cycle of a profiler."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any, Callable

from .._native import MAX_REGIONS, Monitor, Recording
from .child_sampler import ChildSampler
from .region_stacks import ask_for_stacks, done_with_stacks
from .sampler import StackSampler
from .warn import warn_user
from .xla_engine import XlaCollector
from .xla_recording import XlaRecording


class Capture:
    """Regions, steps, counters and Python samples of one stretch, and a framework's own results where it ran."""

    def __init__(
        self,
        monitor: Monitor | None,
        journal: str | None,
        samples_hz: float,
        with_stacks: bool = False,
        with_children: bool = False,
        collectors: Sequence[XlaCollector] = (),
        say: Callable[[str], None] = warn_user,
        joined: Callable[[], None] | None = None,
    ) -> None:
        self.recording = Recording(monitor, journal)
        self._monitor = monitor
        self._journal = journal
        self._samples_hz = samples_hz
        self._sampler: StackSampler | None = None
        self._with_children = with_children
        self._child_sampler: ChildSampler | None = None
        self._with_stacks = with_stacks
        self._collectors = collectors
        self.xla = XlaRecording(say, joined)
        """What JAX and TensorFlow record."""
        self.torch_results: Any = None
        """The ``torch.autograd.profiler.profile`` of this stretch."""
        self.torch_profile: Any = None
        """The ``torch.profiler.profile`` that made it, which may have gone on to the next stretch."""
        self.torch_marks_steps = False
        """Whether PyTorch has marked the steps."""
        self.entries: dict[str, str] = {}
        """What its file says besides, as JSON texts by name."""
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
        for collector in self._collectors:
            self.expect(collector)

    def expect(self, collector: XlaCollector) -> None:
        """JAX's or TensorFlow's profiler records too, from the program's first use on."""
        self.xla.expect(collector, self.temporary_path(f"xplane-{collector.name}"))

    @property
    def marks_steps(self) -> bool:
        """Whether the steps are marked, whoever did it."""
        return self.torch_marks_steps or self.recording.steps > 0

    @property
    def xplane(self) -> str | None:
        """The file that JAX or TensorFlow wrote."""
        return self.xla.profiles[0][0] if self.xla.profiles else None

    def stop(self) -> None:
        """Ends; what was recorded can be written from now on."""
        try:
            if self._with_stacks:
                done_with_stacks()
            self.stop_sampling()
        finally:
            try:
                self.recording.stop()
            finally:
                # Last: it takes a while to put its file together, which is not part of the recording.
                self.xla.stop()
        lost = self.recording.lost_regions
        if lost:
            warn_user(
                f"{lost:,} regions are not in the trace: a recording has room for {MAX_REGIONS:,}; "
                "record fewer steps with a schedule, or use coarser regions"
            )

    def stop_sampling(self) -> None:
        """Ends the samples; the rest is recorded on."""
        samplers = self._child_sampler, self._sampler
        self._child_sampler = self._sampler = None
        for sampler in samplers:
            if sampler is not None:
                sampler.stop()

    def forget_after_fork(self) -> None:
        """In a forked child: the recording is the parent's."""
        self.xla.forget_after_fork()
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
