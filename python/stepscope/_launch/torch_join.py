"""PyTorch's collector joins a recording that runs already, as soon as it may, and leaves when it must."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any, Callable

from ..errors import StepscopeError
from ..profiler.torch_guard import TorchGuard, ours
from .late_import import ImportWatch
from .program_capture import ProgramCapture
from .torch_start import FirstUse

#: Calls what it is given; whatever goes wrong in there must not reach the program.
Safely = Callable[[Callable[[], None]], None]


class TorchJoin:
    """Starts PyTorch's collector in ``capture`` once the program has imported PyTorch.

    ``give_way`` is called just before the program starts a profiler of PyTorch's own. ``safely`` calls everything
    that happens in the middle of the program. ``careful`` waits for the program's first use of PyTorch where starting
    earlier could change what the program does (see :mod:`.torch_start`).
    """

    def __init__(
        self,
        capture: ProgramCapture,
        give_way: Callable[[], None],
        safely: Safely,
        *,
        careful: bool = True,
        imported: Callable[[], None] | None = None,
        joined: Callable[[], None] | None = None,
    ) -> None:
        self._capture = capture
        self._safely = safely
        self._careful = careful
        self._then = imported
        self._joined = joined
        self._torch: Any = None
        self._watch = ImportWatch("torch", lambda torch: safely(lambda: self._imported(torch)))
        self._first_use = FirstUse(lambda: safely(self._join))
        self._guard = TorchGuard(lambda: safely(give_way))

    def start(self) -> None:
        """Begin to wait for PyTorch."""
        self._safely(self._watch.start)

    def stop(self) -> None:
        """Let no one join any more; a collector that runs is stopped with its recording."""
        self._watch.stop()
        self._first_use.stop()

    def remove(self) -> None:
        """Take the last hook out of PyTorch."""
        self.stop()
        self._guard.remove()

    @property
    def waits(self) -> bool:
        """Whether PyTorch is there and its collector still waits for the program's first use of it."""
        return self._first_use.waits

    def ours(self) -> AbstractContextManager[None]:
        """What PyTorch starts in here is ours, and no one gives way to it."""
        return ours()

    def _imported(self, torch: Any) -> None:
        self._torch = torch
        self._guard.install(torch)
        if self._then is not None:
            self._then()
        if self._careful:
            self._first_use.watch(torch)
        else:
            self._join()

    def _join(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise StepscopeError(
                "PyTorch was first used outside the main thread, so its operators are not recorded",
                hint="use stepscope.profile in the thread that uses PyTorch",
            )
        with ours():
            self._capture.start_torch(self._torch)
        if self._joined is not None:
            self._joined()
