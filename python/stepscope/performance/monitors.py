"""One sampler for all profilers of the process that want the same of it.

Each sampler is a thread that asks the kernel and the GPU driver; several that ask the same would only disturb each other.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, Tuple, cast

from stepscope import _native

from .counters import MonitorLike
from .reasons import Watched

_lock = threading.Lock()
_shared: Dict[Tuple[Any, Watched], MonitorLike] = {}


def shared_monitor(watched: Watched) -> MonitorLike:
    """The monitor for what is to be watched. It counts its starts, so that each user may start and stop it."""
    # With the class as part of the key: whoever puts another in its place gets that one.
    key = (_native.Monitor, watched)
    with _lock:
        found = _shared.get(key)
        if found is None:
            found = cast(
                MonitorLike,
                _native.Monitor(
                    watched.interval_s,
                    gpu=watched.gpu,
                    network=watched.network,
                    disk=watched.system,
                    temperature=watched.cpu_temperature,
                    power=True,
                ),
            )
            _shared[key] = found
        return found


def after_fork_in_child() -> None:
    """The threads of the monitors are the parent's; the child makes its own."""
    global _lock
    _lock = threading.Lock()
    for monitor in _shared.values():
        monitor.forget_after_fork()
    _shared.clear()
