"""What PyTorch's recorded operators may take to be written, while they are being recorded.

PyTorch keeps operators in memory until its profiler stops, does not say how many there are, and needs far more for its
results than for the recording. Measured with PyTorch 2.15 on a small network: 340 bytes per event with shapes and
memory while it records, 4.0 KB once it has stopped; without shapes 220 bytes and 1.8 KB. So what is watched is the C
library's heap, where the events are. Tensors are there too: before anything is concluded, what they have added is
subtracted.

With shapes, PyTorch's profiler may also keep tensors that the program has let go of, wherever they are: 14 MB per step
of a solver with PyTorch 2.15. So what the process holds in all is watched, too, as far as it stays for a second.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections import deque
from typing import Any, Callable

from ..profiler.sampler import hide_this_thread
from .main_thread import call_in_main_thread

#: What the results take for each byte of the recording; see above.
RESULTS_PER_RECORDED = 12.0
#: The most that results may take unless the user says otherwise: about two million events.
DEFAULT_BYTES = 8 << 30
#: Allocations from here on are not part of the C library's heap.
_MAPPED_BYTES = 32 << 20
_CHECK_PERIOD_S = 0.1
#: The process may grow by this much, whatever it holds; what is freed within so many checks does not count.
_MAX_KEPT_BYTES = 1 << 30
_CHECKS = 10


class OperatorMemory:
    """Calls ``too_much(bytes)`` once, in the main thread, when the operators recorded since its start may take more
    than ``limit`` bytes to be written."""

    def __init__(self, limit: int, too_much: Callable[[int], None]) -> None:
        self._limit = limit
        self._too_much = too_much
        self._ended = threading.Event()
        self._heap_bytes = heap_meter()
        self._before = 0
        #: The heap that is looked at more closely, and what the process holds.
        self._suspect = 0.0
        self._suspect_kept = max(limit, _MAX_KEPT_BYTES)
        self._resident_before = 0
        self._resident: deque[int] = deque(maxlen=_CHECKS)

    def start(self) -> None:
        """Begin to watch; not where the system does not tell what a process holds."""
        if self._heap_bytes is None:
            return
        self._before = self._heap_bytes()
        with contextlib.suppress(OSError):
            self._resident_before = _resident_bytes()
        self._suspect = self._limit / RESULTS_PER_RECORDED
        threading.Thread(target=self._watch, name="stepscope-memory", daemon=True).start()

    def stop(self) -> None:
        """Watch no more."""
        self._ended.set()

    def _watch(self) -> None:
        hide_this_thread()
        asked = 0.0
        while not self._ended.wait(_CHECK_PERIOD_S):
            if self._grown() > self._suspect > asked:
                asked = self._suspect
                call_in_main_thread(self._look_closely)
            elif self._kept() > self._suspect_kept:
                self._suspect_kept = self._kept() * 5 // 4
                call_in_main_thread(self._look_at_all)

    def _kept(self) -> int:
        """By how much the process has grown, and stayed."""
        if not self._resident_before:
            return 0
        self._resident.append(_resident_bytes() - self._resident_before)
        return min(self._resident) if len(self._resident) == _CHECKS else 0

    def _look_at_all(self) -> None:
        kept = self._kept() - tensor_bytes(sys.maxsize)
        if kept > max(self._limit, _MAX_KEPT_BYTES) and not self._ended.is_set():
            self._ended.set()
            self._too_much(kept)

    def _grown(self) -> int:
        return max(self._heap_bytes() - self._before, 0) if self._heap_bytes is not None else 0

    def _look_closely(self) -> None:
        if self._ended.is_set():
            return
        grown = self._grown()
        recorded = max(grown - tensor_bytes(), 0)
        results = int(recorded * RESULTS_PER_RECORDED)
        if results > self._limit:
            self._ended.set()
            self._too_much(results)
        else:
            # Mostly the program's own. Looking takes a while, so the next time is when as much again has come.
            self._suspect = grown + max(self._limit / RESULTS_PER_RECORDED - recorded, grown / 4)


class IterationMemory:
    """The same for iterations in a row. Between two of them a program holds as many tensors as ever: nothing has to be
    searched for them, which would hold up what is recorded."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._heap_bytes = heap_meter()
        self._before = self._sizes()

    def is_full(self) -> bool:
        """At the end of an iteration: whether those since the start may take more than ``limit`` to be written, or the
        process has grown by more than it may."""
        heap, resident = (now - before for now, before in zip(self._sizes(), self._before))
        return heap * RESULTS_PER_RECORDED > self._limit or resident > max(self._limit, _MAX_KEPT_BYTES)

    def _sizes(self) -> tuple[int, int]:
        if self._heap_bytes is None:
            return 0, 0
        try:
            return self._heap_bytes(), _resident_bytes()
        except OSError:
            return self._heap_bytes(), 0


def heap_meter() -> Callable[[], int] | None:
    """What says how many bytes of the C library's heap are in use; of another C library, how much memory the process
    has; None where nothing does."""
    try:
        import ctypes

        class Info(ctypes.Structure):
            """glibc's ``struct mallinfo2``."""

            _fields_ = [
                (name, ctypes.c_size_t)
                for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
            ]

        ask = ctypes.CDLL(None).mallinfo2
        ask.restype = Info
        return lambda: int(ask().uordblks)
    except (ImportError, OSError, AttributeError):
        pass
    try:
        _resident_bytes()
    except OSError:
        return None
    return _resident_bytes


def _resident_bytes() -> int:
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def tensor_bytes(largest: int = _MAPPED_BYTES) -> int:
    """What tensors in the C library's heap hold, each storage once, or larger ones, too. Gradients count: they hang on
    tensors."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    held: dict[int, int] = {}
    for found in gc.get_objects():
        try:
            # By its class: some objects answer with a warning when they are asked what they are.
            if issubclass(type(found), torch.Tensor):
                _hold(found, held, largest)
                if found.is_leaf and found.grad is not None:
                    _hold(found.grad, held, largest)
        except Exception:  # a tensor of another kind, or a stand-in for one
            continue
    return sum(held.values())


def _hold(tensor: Any, held: dict[int, int], largest: int) -> None:
    if tensor.device.type == "cpu":
        storage = tensor.untyped_storage()
        size = int(storage.nbytes())
        if size < largest:
            held[storage.data_ptr()] = size


def default_limit() -> int:
    """Half of what is free here, and no more than :data:`DEFAULT_BYTES`."""
    free = [_free_of_machine(), _free_of_group()]
    known = [each for each in free if each is not None]
    return min([DEFAULT_BYTES, *(each // 2 for each in known)])


def _free_of_machine() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return None


def _free_of_group(folder: str = "/sys/fs/cgroup") -> int | None:
    """What the container may still take."""
    try:
        numbers = []
        for name in ("memory.max", "memory.current"):
            with open(f"{folder}/{name}", encoding="ascii") as file:
                numbers.append(int(file.read()))
        return max(numbers[0] - numbers[1], 0)
    except (OSError, ValueError):  # no such files, or no limit
        return None
