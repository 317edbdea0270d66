"""The profilers of JAX and TensorFlow in one capture: each from the program's first use of its framework on."""

from __future__ import annotations

import threading
from typing import Callable

from .frameworks import in_use
from .use_watch import UseWatch
from .xla_engine import XlaCollector


class XlaRecording:
    """What they record is in :attr:`profiles` when all have ended.

    ``say`` takes what the user has to know, and ``joined`` is called when one begins to record.
    """

    def __init__(self, say: Callable[[str], None], joined: Callable[[], None] | None = None) -> None:
        self._say = say
        self._joined = joined
        self._lock = threading.RLock()
        self._over = False
        self._watches: list[UseWatch] = []
        self._running: list[XlaCollector] = []
        #: The files that were written, each with when it was begun.
        self.profiles: list[tuple[str, int]] = []

    @property
    def records(self) -> bool:
        """Whether one records, or has."""
        return bool(self._running or self.profiles)

    def expect(self, collector: XlaCollector, folder: str) -> None:
        """Let this one record into a folder: now, or as soon as the program uses its framework."""
        if collector.waits and not in_use(collector.name):
            watch = UseWatch(collector.name, lambda: self._start(collector, folder))
            self._watches.append(watch)
            watch.start()
        else:
            self._start(collector, folder)

    def mark_thread(self) -> None:
        """This thread is one whose steps are marked."""
        for collector in self._running:
            collector.mark_thread()

    def step_begins(self, number: int) -> None:
        """The step before has ended, and this one begins."""
        for collector in self._running:
            collector.step_begins(number)

    def stop(self) -> None:
        """End; no one joins any more."""
        for watch in self._watches:
            watch.stop()
        with self._lock:
            self._over = True
            for collector in list(self._running):
                self._end(collector)

    def forget_after_fork(self) -> None:
        """In a forked child: what records is the parent's."""
        self._lock = threading.RLock()
        self._over, self._running = True, []

    def _start(self, collector: XlaCollector, folder: str) -> None:
        with self._lock:
            if self._over:
                return
            try:
                collector.start(folder, lambda: self._give_way(collector))
            except Exception as error:
                self._say(
                    f"recording without {collector.title}'s profiler, so its operators and kernels are not recorded: "
                    f"{_first_line(error)}"
                )
                return
            self._running.append(collector)
        if self._joined is not None:
            self._joined()

    def _end(self, collector: XlaCollector) -> bool:
        """Whether there is something that was not there before."""
        self._running.remove(collector)
        try:
            self.profiles.append((collector.stop(), collector.started_ns))
        except Exception as error:
            self._say(f"what {collector.title}'s profiler recorded is lost: {_first_line(error)}")
            return False
        return True

    def _give_way(self, collector: XlaCollector) -> None:
        """The program starts the same profiler itself."""
        with self._lock:
            if collector in self._running and self._end(collector):
                self._say(
                    f"{collector.title}'s own profiler was started while this one ran, and there can be one at a time: "
                    "this one has operators up to here, and regions, counters and samples to its end"
                )


def _first_line(error: Exception) -> str:
    """What an error says, without the stack of C++ functions that some have below it."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
