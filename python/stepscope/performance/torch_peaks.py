"""Peaks of PyTorch's CUDA allocator in several regions at once, without taking them from the program.

PyTorch keeps one peak per device, which can only be reset. A region needs the peak since its own start, and the program
may want the peak since *its* last reset. So each reset that we make is noted first: in every open window, and in what
``torch.cuda.memory_stats()`` (and so ``max_memory_allocated()``) tells the program from then on.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

Peak = tuple[int, int]
"""Allocated and reserved, in bytes."""

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

    def open(self) -> PeakWindow:
        """A window starts: the peak is what is held now."""
        with self._lock:
            self._note()
            self._show_what_is_carried()
            for device in self._devices():
                self._carry(device, self._read(device)[1])
                self._own_reset(device)
            window = PeakWindow()
            for device in self._devices():
                current, peak = self._read(device)
                window.starts[device] = current
                window.raise_to(device, peak)
            self._open.append(window)
            return window

    def close(self, window: PeakWindow) -> dict[int, int]:
        """The window ends. What each device holds now."""
        with self._lock:
            self._note()
            if window in self._open:
                self._open.remove(window)
            return {device: self._read(device)[0] for device in self._devices()}

    def whole(self) -> tuple[PeakWindow, dict[int, int]]:
        """The peaks since the process began to use its devices, and what they hold now."""
        window = PeakWindow()
        current: dict[int, int] = {}
        with self._lock:
            for device in self._devices():
                current[device], peak = self._read(device)
                window.starts[device] = 0
                window.raise_to(device, peak)
                window.raise_to(device, self._carried.get(device, (0, 0)))
        return window, current

    def after_fork_in_child(self) -> None:
        """CUDA does not survive a fork; nothing is open."""
        self._lock = threading.RLock()
        self._open = []

    def _devices(self) -> range:
        return range(self._torch.cuda.device_count())

    def _read(self, device: int) -> tuple[int, Peak]:
        stats = self._torch.cuda.memory_stats_as_nested_dict(device)
        if not stats:
            return 0, (0, 0)
        allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
        return allocated["current"], (allocated["peak"], reserved["peak"])

    def _note(self) -> None:
        for device in self._devices() if self._open else ():
            peak = self._read(device)[1]
            for window in self._open:
                window.raise_to(device, peak)

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
                self._note()
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
