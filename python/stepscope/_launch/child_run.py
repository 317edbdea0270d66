"""A child of a recorded program: it records itself into a file of its own, beside that of the first process."""

from __future__ import annotations

import atexit
import builtins
import os
import re
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable

from .._process_name import process_name
from .follow import ChildFollower, Plan

if TYPE_CHECKING:
    from .._exact.lines import lines
    from .memory_saver import MemorySaver

#: Helpers of ``multiprocessing`` that run nothing of the program. The second makes processes that do.
_TRACKER, _SERVER = "multiprocessing.resource_tracker", "multiprocessing.forkserver"


class ChildRun:
    """Records from now on until the process ends, however it does."""

    def __init__(self, plan: Plan, timed: lines | None = None) -> None:
        self._process = os.getpid()
        self._plan = plan
        self._measured: Any = None
        self._saver: MemorySaver | None = None
        self._writes = False
        self._killed_by = 0
        stem, self._ending = os.path.splitext(plan.base)
        self._stem = stem
        self._path = f"{stem}.{self._process}{self._ending}"
        self._make(timed)

    def _make(self, timed: lines | None) -> None:
        plan = self._plan
        # Only what is needed is imported: a child starts as soon as it can.
        if plan.mode == "functions":
            from .._exact.functions import functions

            self._measured = functions()
        elif plan.mode == "calls":
            from .._exact.call_trace import calls

            self._measured = calls(self._path, **plan.calls)
        elif plan.mode == "samples":
            from .sampled_child import SampledChild

            self._measured = SampledChild(**plan.samples)
        elif plan.mode == "memory":
            from .._exact.memory import track
            from .memory_saver import MemorySaver

            self._measured = track(**plan.memory)
            self._saver = MemorySaver(self._measured, self._path)
        else:
            from .._exact.lines import lines
            from .._exact.marked import take_over
            from .._exact.patterns import named

            names = [name for name in plan.lines if name != "auto"]
            if timed is not None:
                self._measured = timed.anew()
            else:
                self._measured = lines.judged(named(names)) if names else lines()
            take_over(self._measured)
            vars(builtins)["profile"] = self._measured.add

    def start(self) -> None:
        """Begin."""
        atexit.register(self.finish)
        if self._is_of_multiprocessing():
            self._finish_before_signal()
        if self._saver is not None:
            self._saver.start()
        self._measured.start()

    def finish(self) -> None:
        """Write the file, once, and never in a child of this one."""
        if self._writes or os.getpid() != self._process:
            return
        self._writes = True  # First of all: a signal from here on waits until the file is there.
        measured, self._measured = self._measured, None
        if measured is not None:
            self._write(measured)
        self._writes = False
        if self._killed_by:
            self._die(self._killed_by)

    def _write(self, measured: Any) -> None:
        try:
            measured.stop()
            if self._saver is not None:
                self._saver.stop()
            path = f"{self._stem}.{_clean(process_name())}-{self._process}{self._ending}"
            if self._plan.mode == "calls":
                os.replace(self._path, path)
            elif self._plan.mode in ("functions", "memory", "samples") or measured.timings:
                measured.save(path)
            if self._plan.mode == "memory" and os.path.exists(self._path):
                os.remove(self._path)  # what was written meanwhile
        except Exception:  # the child must not notice
            pass

    def finish_before_exit(self) -> None:
        """A forked child may end by ``os._exit``, as those of ``multiprocessing`` do: the file is written first."""
        leave: Any = os._exit

        def _exit(status: int) -> None:
            self.finish()
            leave(status)

        os._exit = _exit  # type: ignore[assignment]

    def _is_of_multiprocessing(self) -> bool:
        command = _command()
        return "multiprocessing.process" in sys.modules or "--multiprocessing-fork" in command

    def _die(self, number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _finish_before_signal(self) -> None:
        """Pools end their workers by a signal. Whoever has something else to do at it keeps it."""

        def terminated(number: int, frame: object) -> None:
            if self._writes:
                self._killed_by = number  # as soon as that is done
                return
            self.finish()
            self._die(number)

        try:
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, terminated)
                if not _repeat_until_heard(signal.SIGTERM):
                    self._repeat_after_fork()
        except ValueError:
            pass  # not in the main thread

    def _repeat_after_fork(self) -> None:
        """A fork server is woken up by signals. Its child gives that up, and then begins as every other does."""
        forks: Any = sys.modules.get("multiprocessing.util")

        def begins(child: ChildRun) -> None:
            if os.getpid() == child._process:
                _repeat_until_heard(signal.SIGTERM)

        if forks is not None:
            forks.register_after_fork(self, begins)


def _repeat_until_heard(number: int) -> bool:
    """Sends a signal again and again once it has come; False where something else is woken up by signals.

    Python's handlers run between two instructions. A signal that comes right before a call that waits, as workers of
    pools wait for a lock, is not heard until that call is interrupted, which may be never.
    """
    wakes, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    others = signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    if others != -1:
        signal.set_wakeup_fd(others)
        os.close(wakes)
        os.close(wakeup)
        return False
    main = threading.get_ident()

    def repeat() -> None:
        came = b"-"
        while came and number not in came:
            came = os.read(wakes, 64)
        while came:
            time.sleep(0.1)
            signal.pthread_kill(main, number)

    threading.Thread(target=repeat, name="stepscope", daemon=True).start()
    return True


def begin(text: str) -> None:
    """Python starts in a child: record it and follow its own children."""
    plan = Plan.from_text(text)
    follow(plan, None).hide_and_start()
    command = " ".join(_command())
    if _TRACKER in command or _SERVER in command:
        return
    ChildRun(plan).start()


class _FollowedProcess:
    """A process whose children are followed."""

    def __init__(self, plan: Plan, timed: Callable[[], lines | None]) -> None:
        self._plan = plan
        self._timed = timed
        #: Whether this process was forked, and records itself.
        self.is_child = False
        self.following = ChildFollower(plan, self._forked)

    def hide_and_start(self) -> None:
        """In a child that starts anew."""
        self.following.hide()
        self.following.start()

    def _forked(self) -> None:
        self.is_child = True
        try:
            child = ChildRun(self._plan, self._timed())
            child.finish_before_exit()
            child.start()
        except Exception:  # the child must not notice
            pass


def follow(plan: Plan, timed: Callable[[], lines | None] | None) -> _FollowedProcess:
    """Follows the children of this process. ``timed`` gives the functions whose lines are timed here."""
    return _FollowedProcess(plan, timed or (lambda: None))


def _command() -> list[str]:
    """The command line as it was typed."""
    found: list[str] | None = getattr(sys, "orig_argv", None)
    if found is None:
        try:
            with open("/proc/self/cmdline", "rb") as file:
                found = [os.fsdecode(part) for part in file.read().split(b"\0")]
        except OSError:
            found = []
    return found


def _clean(name: str) -> str:
    """A name as part of a file's.

    >>> _clean("Process-1:2 (x/y)")
    'Process-1_2_x_y_'
    """
    return re.sub(r"[^\w.-]+", "_", name)[:64] or "python"
