"""Samples the Python stacks of all threads, many times per second.

A native thread reads this process's own memory: it needs no interpreter's lock and no permission, and it knows lines
and who waits. Where it does not know this Python, a thread of Python's samples instead (:class:`_InsideSampler`). Its
samples need the lock: code that holds the lock makes the next one late, and the time until then belongs to the stack
seen then, which held it. There a thread that used little processor time since the sample before counts as waiting.

The frames are wall-clock samples. What runs between two samples can be missed, so times of single short functions are
estimates.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Iterable
from types import CodeType, FrameType

from .._current_run import current_run
from .._native import ChildProcessSampler, NativeStackSampler, Recording, hide_thread, now_ns, show_thread
from ..errors import StepscopeError
from .warn import warn_user

MAX_FRAMES = 500
"""Frames kept of one stack, counted from its outermost: a runaway recursion must not fill the memory."""

MAX_HZ = 1000.0
"""Above this a sampler would mostly measure itself."""

_OWN_FILES = os.path.dirname(os.path.abspath(__file__)) + os.sep
_DECORATOR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_decorate.py")
"""What is between a decorated function and its caller."""
_own_threads: set[int] = set()


def hide_this_thread() -> None:
    """The calling thread is ours, not the program's: its stack is not looked at."""
    _own_threads.add(threading.get_ident())
    hide_thread(threading.get_ident())


def codes_of_stack(innermost: FrameType | None) -> list[CodeType]:
    """The functions of a stack, innermost first."""
    codes = []
    frame = innermost
    while frame is not None:
        codes.append(frame.f_code)
        frame = frame.f_back
    return codes


def thread_cpu_ns(thread: int) -> int | None:
    """The processor time a thread has used, by the system's number of it; None where the system does not say.

    Linux has a clock for every thread, whose number is made of the thread's. ``time.pthread_getcpuclockid`` takes
    Python's identity of a thread instead, and reads freed memory if the thread has just ended.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        return time.clock_gettime_ns((~thread << 3) | 6)
    except (OSError, OverflowError):
        # No such thread, or a number of our own for one that Python has no object for.
        return None


_Place = tuple[str, str, int]


class FrameNames:
    """Names frames as PyTorch's stacks do: ``file.py(12): function``, the file below its place on ``sys.path``."""

    def __init__(self) -> None:
        roots = {os.path.abspath(entry) for entry in sys.path}
        self.roots = sorted((root.rstrip(os.sep) + os.sep for root in roots), key=len, reverse=True)
        self._files: dict[str, str] = {}
        # Keyed by identity, because hashing a code object walks all of it. The object is kept so that its
        # identity is not given to another one.
        self._codes: dict[int, tuple[CodeType, str]] = {}
        run = current_run()
        self.root = run.root if run is not None else None
        """The function of ``stepscope run`` that calls the script: a stack begins after it."""
        self.launcher = run.launcher if run is not None else None
        """Its outermost function: a stack that does not come through the root is its own time."""

    def stack_sampler(self, recording: Recording, hz: float) -> NativeStackSampler:
        """The sampler of this process, with these names."""
        return NativeStackSampler(recording, hz, *self._naming())

    def child_sampler(self, recording: Recording, hz: float) -> ChildProcessSampler:
        """The sampler of its children."""
        return ChildProcessSampler(recording, hz, *self._naming())

    def _naming(self) -> tuple[list[str], str, str, _Place | None, _Place | None]:
        return self.roots, _OWN_FILES, _DECORATOR, _place(self.root), _place(self.launcher)

    def of_code(self, code: CodeType) -> str:
        """The name of a function. The line is its first, so that neighboring samples of it can be merged."""
        known = self._codes.get(id(code))
        if known is not None:
            return known[1]
        name = f"{self._file(code.co_filename)}({code.co_firstlineno}): {code.co_name}"
        self._codes[id(code)] = (code, name)
        return name

    def of_stack(self, innermost: FrameType | None) -> list[str]:
        """All functions of a stack, outermost first, as long as it is not too long."""
        codes = self.of_program(codes_of_stack(innermost))
        codes.reverse()
        return [self.of_code(code) for code in codes[:MAX_FRAMES]]

    def of_program(self, codes: Iterable[CodeType]) -> list[CodeType]:
        """Those functions of a stack, innermost first, that are the program's. Time in the profiler itself is its
        caller's."""
        found: list[CodeType] = []
        for code in codes:
            if code is self.root:
                break
            if code is self.launcher:
                return []
            if code.co_filename.startswith(_OWN_FILES):
                found.clear()
            elif code.co_filename != _DECORATOR:
                found.append(code)
        return found

    def _file(self, filename: str) -> str:
        known = self._files.get(filename)
        if known is None:
            known = filename
            for root in self.roots:
                if filename.startswith(root):
                    known = filename[len(root) :]
                    break
            self._files[filename] = known
        return known


def _place(code: CodeType | None) -> _Place | None:
    return None if code is None else (code.co_filename, code.co_name, code.co_firstlineno)


class StackSampler:
    """Puts samples into a recording between :meth:`start` and :meth:`stop`."""

    _warned = False

    def __init__(self, recording: Recording, hz: float) -> None:
        self._names = names = FrameNames()
        self._hz = min(hz, MAX_HZ)
        self._recording = recording
        self._used: NativeStackSampler | _InsideSampler = names.stack_sampler(recording, self._hz)

    def start(self) -> None:
        """Start sampling."""
        try:
            self._used.start()
            _looking.add(self)
        except StepscopeError as error:
            if sys.platform.startswith("linux") and not StackSampler._warned:
                StackSampler._warned = True
                warn_user(f"stacks are sampled while holding the GIL: {error.message}")
            self._used = _InsideSampler(self._recording, self._names, self._hz)
            self._used.start()

    def stop(self) -> None:
        """Ends; no sample is added afterwards."""
        _looking.discard(self)
        self._used.stop()

    def forget_after_fork(self) -> None:
        """In a forked child: the thread is the parent's."""
        if isinstance(self._used, NativeStackSampler):
            self._used.forget_after_fork()

    @property
    def samples(self) -> int:
        """How many stacks were seen."""
        return self._used.samples


class _InsideSampler:
    """A daemon thread of Python's that samples where nothing better can."""

    def __init__(self, recording: Recording, names: FrameNames, hz: float) -> None:
        self._recording = recording
        self._period_s = 1.0 / hz
        self._names = names
        self._threads: dict[int, tuple[int, str]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stepscope-sampler", daemon=True)
        self.samples = 0

    def start(self) -> None:
        """Start sampling."""
        self._thread.start()

    def stop(self) -> None:
        """Ends; no sample is added afterwards."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        own = threading.get_ident()
        hide_this_thread()
        try:
            due = time.monotonic()
            while True:
                # Samples that were missed, because another thread held the interpreter, are not made up for: the
                # next one is at the next whole period.
                late_s = max(time.monotonic() - due, 0.0)
                due += self._period_s * (1 + late_s // self._period_s)
                if self._ended.wait(max(due - time.monotonic(), 0.0)):
                    return
                self._sample()
        finally:
            _own_threads.discard(own)
            show_thread(own)

    def _sample(self) -> None:
        at_ns = now_ns()
        for ident, frame in sys._current_frames().items():
            if ident in _own_threads:
                continue
            number, name = self._threads.get(ident) or self._meet(ident)
            self._recording.sample(number, name, at_ns, self._names.of_stack(frame), thread_cpu_ns(number))
            self.samples += 1

    def _meet(self, ident: int) -> tuple[int, str]:
        for thread in threading.enumerate():
            if thread.ident == ident:
                found = (thread.native_id or _small(ident), thread.name)
                break
        else:
            # Not made by Python; it has no number of the system's that Python knows.
            found = (_small(ident), f"thread {ident:x}")
        self._threads[ident] = found
        return found


def _small(ident: int) -> int:
    """A thread's number in 31 bits: its identity is an address."""
    return (ident >> 6) & 0x7FFF_FFFF


#: Those whose thread may hold the recording at any time. A child forked meanwhile would wait for it forever.
_looking: weakref.WeakSet[StackSampler] = weakref.WeakSet()


def _before_fork() -> None:
    for one in list(_looking):
        one._used.stop()


def _after_fork_in_parent() -> None:
    for one in list(_looking):
        one._used.start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_looking.clear)
