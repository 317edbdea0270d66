"""JAX and TensorFlow join a run that is recorded already: from the program's first use of them on, whenever that is."""

from __future__ import annotations

from typing import Any, Callable

from ..profiler.frameworks import XLA_NAMES
from .late_import import ImportWatch
from .program_capture import ProgramCapture


class FrameworkJoin:
    """Tells ``capture`` when the program has imported one of them; ``safely`` calls what happens in the middle of the
    program. Their profilers start when the program uses a device: what it still wants to set up (platforms, memory,
    other hosts) would come too late otherwise."""

    def __init__(self, capture: ProgramCapture, names: set[str], safely: Callable[[Callable[[], None]], None]) -> None:
        def watch(name: str) -> ImportWatch:
            def imported(_module: Any) -> None:
                safely(lambda: capture.expect(name))

            return ImportWatch(name, imported)

        self._watches = [watch(name) for name in XLA_NAMES if name in names]

    def start(self) -> None:
        """Begin to wait for them."""
        for watch in self._watches:
            watch.start()

    def stop(self) -> None:
        """Let no one join any more."""
        for watch in self._watches:
            watch.stop()
