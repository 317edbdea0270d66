"""Traces of tests: one of the session, or one of each test."""

from __future__ import annotations

import re
from pathlib import Path

from .._launch.block_capture import BlockCapture
from .._launch.program_capture import ProgramCapture
from ..config.profiling import trace_name
from ..config.settings import Settings


class WholeSession:
    """One trace of all tests: regions, Python stacks and counters.

    Operators of PyTorch are left out: over a whole session they would fill memory, and tests may use its profiler.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._capture: ProgramCapture | None = None
        self.notes: list[str] = []
        #: The trace, once it is written.
        self.path: Path | None = None

    def start(self) -> None:
        """Begin to record."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._capture = ProgramCapture(Settings(), None)
            self._capture.start()
        except Exception as error:  # the tests matter more
            self._capture = None
            self.notes.append(f"nothing was recorded: {error}")

    def stop(self) -> None:
        """Write the trace."""
        if self._capture is None:
            return
        try:
            self._capture.stop()
            path = self._folder / trace_name(gzip=True)
            self._capture.save(str(path))
            self.path = path
        except Exception as error:  # the tests matter more
            self.notes.append(f"no trace was written: {error}")


class EachTest:
    """One trace for each test, with PyTorch's operators. A test that uses a profiler itself has none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._recording: BlockCapture | None = None
        self.notes: list[str] = []

    def start(self, name: str) -> None:
        """A test begins."""
        self._name = name
        self._recording = BlockCapture(name, Settings(record_shapes=True, profile_memory=True))
        self._recording.start()

    def stop(self) -> None:
        """The test has ended: write its trace."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.stop(self._folder / file_name(self._name))
            self.notes += recording.notes


def file_name(test: str) -> str:
    """A file name for a test's name.

    >>> file_name("tests/test_a.py::test_b[1/2]")
    'tests_test_a.py_test_b[1_2].pt.trace.json.gz'
    """
    return re.sub(r"[^\w.\-\[\]]+", "_", test)[-180:] + ".pt.trace.json.gz"
