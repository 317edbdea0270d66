"""Peaks of PyTorch's CUDA allocator in several regions at once, without taking them from the program.

PyTorch keeps one peak per device, which can only be reset. A region needs the peak since its own start, and the program
may want the peak since *its* last reset. So each reset that we make is noted first: in every open window, and in what
``torch.cuda.memory_stats()`` (and so ``max_memory_allocated()``) tells the program from then on.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable
from time import perf_counter_ns
from typing import Any

Peak = tuple[int, int]
"""Allocated and reserved, in bytes."""

SAME_READING_NS = 20_000
"""A reading costs 12 to 22 microseconds. If the program ran for less than this since the last edge of a region, none is
made at a start, nor at the end of a region inside which another has just ended (a heuristic: hardly anything is
allocated between two statements)."""
MAX_AGE_NS = 500_000
"""No reading is taken for one of now that is older than this, whatever other threads did."""
DEVICES_NS = 100_000_000
"""How often devices that held nothing are looked at again."""

_KEYS = ("allocated_bytes.all.peak", "reserved_bytes.all.peak")


class PeakWindow:
    """A stretch of time and the highest peaks seen in it, by device."""

    __slots__ = ("peaks", "starts")

    def __init__(self) -> None:
        self.peaks: dict[int, Peak] = {}
        self.starts: dict[int, int] = {}

    def raise_to(self, device: int, peak: Peak) -> None:
        """Notes a peak."""
        known = self.peaks.get(device, (0, 0))
        self.peaks[device] = (max(known[0], peak[0]), max(known[1], peak[1]))


class PeakBook:
    """All open windows of the process, over the one peak that PyTorch keeps."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._lock = threading.RLock()
        self._open: list[PeakWindow] = []
        self._carried: dict[int, Peak] = {}
        self._shown = False
        self._own_reset = torch.cuda.memory.reset_peak_memory_stats
        # What each device in use holds (allocated, reserved), when it was read, and whether a region had just ended.
        self._held: dict[int, Peak] = {}
        self._held_ns: int | None = None
        self._held_at_end = False
        self._devices_ns = 0

    def open(self, own_ns: int) -> PeakWindow:
        """A window starts: the peak is what is held now. ``own_ns``: how long the program ran since the last edge."""
        with self._lock:
            if not self._shown:
                self._show_what_is_carried()
            if not self._is_known(own_ns):
                self._settle()
            self._held_at_end = False
            window = PeakWindow()
            for device, held in self._held.items():
                window.starts[device] = held[0]
                window.peaks[device] = held
            self._open.append(window)
            return window

    def close(self, window: PeakWindow, own_ns: int) -> dict[int, int]:
        """The window ends. What each device holds now."""
        with self._lock:
            # A region that ends with the one inside it needs no reading of its own.
            if not (self._held_at_end and self._is_known(own_ns)):
                self._settle()
                self._held_at_end = True
            if window in self._open:
                self._open.remove(window)
            return {device: held[0] for device, held in self._held.items()}

    def whole(self) -> tuple[PeakWindow, dict[int, int]]:
        """The peaks since the process began to use its devices, and what they hold now."""
        window = PeakWindow()
        current: dict[int, int] = {}
        with self._lock:
            for device in range(self._torch.cuda.device_count()):
                held, peak = self._read(device)
                current[device] = held[0]
                window.starts[device] = 0
                window.raise_to(device, peak)
                window.raise_to(device, self._carried.get(device, (0, 0)))
        return window, current

    def after_fork_in_child(self) -> None:
        """CUDA does not survive a fork; nothing is open."""
        self._lock = threading.RLock()
        self._open = []
        self._held, self._held_ns = {}, None

    def _is_known(self, own_ns: int) -> bool:
        """Whether the last reading may be taken for one of now."""
        if self._held_ns is None or own_ns >= SAME_READING_NS:
            return False
        return perf_counter_ns() - self._held_ns < MAX_AGE_NS

    def _settle(self) -> None:
        """Notes the peaks so far, and starts new ones from what is held now."""
        now_ns = perf_counter_ns()
        if not self._held or now_ns - self._devices_ns >= DEVICES_NS:
            devices: Iterable[int] = range(self._torch.cuda.device_count())
            self._devices_ns = now_ns
        else:
            devices = tuple(self._held)
        for device in devices:
            held, peak = self._read(device)
            if not peak[1]:
                # Nothing is held there, and nothing was.
                self._held.pop(device, None)
                continue
            for window in self._open:
                window.raise_to(device, peak)
            self._carry(device, peak)
            self._own_reset(device)
            self._held[device] = held
        self._held_ns = perf_counter_ns()

    def _read(self, device: int) -> tuple[Peak, Peak]:
        """What a device holds, and its peaks."""
        stats = self._torch.cuda.memory_stats_as_nested_dict(device)
        if not stats:
            return (0, 0), (0, 0)
        allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
        return (allocated["current"], reserved["current"]), (allocated["peak"], reserved["peak"])

    def _carry(self, device: int, peak: Peak) -> None:
        known = self._carried.get(device, (0, 0))
        self._carried[device] = (max(known[0], peak[0]), max(known[1], peak[1]))

    def _show_what_is_carried(self) -> None:
        """Once: what the program asks of PyTorch must not change because we reset."""
        if self._shown:
            return
        self._shown = True
        memory = self._torch.cuda.memory
        own_stats, own_reset = memory.memory_stats, self._own_reset

        @functools.wraps(own_stats)
        def memory_stats(device: Any = None) -> Any:
            found = own_stats(device)
            carried = self._carried.get(self._number(device))
            if carried is not None:
                for key, peak in zip(_KEYS, carried):
                    if key in found:
                        found[key] = max(found[key], peak)
            return found

        @functools.wraps(own_reset)
        def reset_peak_memory_stats(device: Any = None) -> Any:
            with self._lock:
                self._settle()
                self._carried.pop(self._number(device), None)
                return own_reset(device)

        for place in (memory, self._torch.cuda):
            place.memory_stats = memory_stats
            place.reset_peak_memory_stats = reset_peak_memory_stats

    def _number(self, device: Any) -> int:
        return int(self._torch.cuda._utils._get_device_index(device, optional=True))


_books: dict[int, PeakBook] = {}


def book_of(torch: Any) -> PeakBook:
    """The one book of the process."""
    return _books.setdefault(id(torch), PeakBook(torch))


def after_fork_in_child() -> None:
    """Makes the books usable in a forked child."""
    for book in _books.values():
        book.after_fork_in_child()
