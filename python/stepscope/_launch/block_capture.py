"""A recording of one piece of a program, a test or a cell, with PyTorch's operators if it uses them."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from .._current_run import CurrentRun, current_run, set_current_run
from ..config.settings import Settings
from .operator_memory import OperatorMemory, default_limit
from .program_capture import ProgramCapture
from .torch_join import TorchJoin


class BlockCapture(CurrentRun):
    """Records between :meth:`start` and :meth:`stop`. A profiler that the piece starts itself goes first.

    Nothing that goes wrong here reaches the piece; :attr:`notes` tells of it.
    """

    def __init__(self, what: str, settings: Settings) -> None:
        self._what = what
        self._settings = settings
        self._capture: ProgramCapture | None = None
        self._join: TorchJoin | None = None
        self._memory = OperatorMemory(default_limit(), self._too_much)
        self._before: CurrentRun | None = None
        self.notes: list[str] = []

    def start(self) -> None:
        """Begin to record."""
        try:
            self._capture = ProgramCapture(self._settings, None)
            self._capture.start()
        except Exception as error:  # the piece matters more
            self._capture = None
            self._failed(error)
            return
        self._before = current_run()
        set_current_run(self)
        self._join = TorchJoin(self._capture, self._give_way, self._safely, careful=False, joined=self._memory.start)
        self._join.start()

    def stop(self, path: Path) -> bool:
        """End, and write the trace; whether there is one."""
        capture, self._capture = self._capture, None
        self._memory.stop()
        if self._join is not None:
            self._join.remove()
            self._join = None
            set_current_run(self._before)
        if capture is None:
            return False
        try:
            capture.stop()
            path.parent.mkdir(parents=True, exist_ok=True)
            capture.save(str(path))
        except Exception as error:  # the piece matters more
            self._failed(error)
            return False
        return True

    def step(self, samples: float | None = None) -> None:
        """The piece says that a step has ended."""
        if self._capture is not None:
            self._capture.step(samples)

    def profile_starts(self, profile: object) -> None:
        """The piece uses a profiler of ours."""
        self._give_way()

    def _give_way(self) -> None:
        capture, self._capture = self._capture, None
        if capture is None:
            return
        self.notes.append(f"{self._what} uses a profiler itself, so nothing else was recorded")
        self._safely(capture.stop)

    def _too_much(self, results_bytes: int) -> None:
        if self._capture is not None:
            size = f"{results_bytes / (1 << 30):.1f} GiB"
            self.notes.append(
                f"operators of {self._what} are in the trace until they might have taken {size} of memory"
            )
            self._safely(self._capture.stop_operators)

    def _safely(self, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as error:  # the piece matters more
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self.notes.append(f"the recording of {self._what} is incomplete: {error}")
