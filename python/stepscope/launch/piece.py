"""A recording of one piece of a program, a test or a cell, with PyTorch's operators if it uses them."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, List, Optional

from ..config.settings import Settings
from ..current_run import CurrentRun, current_run, set_current_run
from .torch_join import TorchJoin
from .whole_run import WholeRun


class PieceRecording(CurrentRun):
    """Records between :meth:`start` and :meth:`stop`. A profiler that the piece starts itself goes first.

    Nothing that goes wrong here reaches the piece; :attr:`notes` tells of it.
    """

    def __init__(self, what: str, settings: Settings) -> None:
        self._what = what
        self._settings = settings
        self._whole: Optional[WholeRun] = None
        self._join: Optional[TorchJoin] = None
        self._before: Optional[CurrentRun] = None
        self.notes: List[str] = []

    def start(self) -> None:
        """Begin to record."""
        try:
            self._whole = WholeRun(self._settings, None)
            self._whole.start()
        except Exception as error:  # noqa: BLE001 - the piece matters more
            self._whole = None
            self._failed(error)
            return
        self._before = current_run()
        set_current_run(self)
        self._join = TorchJoin(self._whole, self._give_way, self._safely, careful=False)
        self._join.start()

    def stop(self, path: Path) -> bool:
        """End, and write the trace; whether there is one."""
        whole, self._whole = self._whole, None
        if self._join is not None:
            self._join.remove()
            self._join = None
            set_current_run(self._before)
        if whole is None:
            return False
        try:
            whole.stop()
            path.parent.mkdir(parents=True, exist_ok=True)
            whole.save(str(path))
        except Exception as error:  # noqa: BLE001 - the piece matters more
            self._failed(error)
            return False
        return True

    def step(self) -> None:
        """The piece says that a step has ended."""
        if self._whole is not None:
            self._whole.step()

    def profile_starts(self, profile: object) -> None:
        """The piece uses a profiler of ours."""
        self._give_way()

    def _give_way(self) -> None:
        whole, self._whole = self._whole, None
        if whole is None:
            return
        self.notes.append(f"{self._what} uses a profiler itself, so nothing else was recorded")
        self._safely(whole.stop)

    def _safely(self, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as error:  # noqa: BLE001 - the piece matters more
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self.notes.append(f"the recording of {self._what} is incomplete: {error}")
