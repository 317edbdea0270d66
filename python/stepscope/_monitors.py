"""One monitor for all of the process that watch the same.

Finding a machine's sensors takes a while on one with GPUs, so that is done once; and each monitor is a thread that asks
the kernel and the driver: several that ask the same would only disturb each other. A monitor counts its starts, so each
user may start and stop it.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from ._native import Monitor

_lock = threading.Lock()
_shared: dict[tuple[Any, ...], Monitor] = {}


def shared_monitor(
    interval_s: float = 0.1, *, gpu: bool = True, network: bool = True, disk: bool = True, temperature: bool = True
) -> Monitor:
    """The monitor with these options."""
    # With the class as part of the key: whoever puts another in its place gets that one.
    key = (Monitor, interval_s, gpu, network, disk, temperature)
    with _lock:
        found = _shared.get(key)
        if found is None:
            found = Monitor(interval_s, gpu=gpu, network=network, disk=disk, temperature=temperature, power=True)
            _shared[key] = found
        return found


def _after_fork_in_child() -> None:
    """The threads of the monitors are the parent's; the child makes its own."""
    global _lock
    _lock = threading.Lock()
    for monitor in _shared.values():
        monitor.forget_after_fork()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
