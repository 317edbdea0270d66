"""What to do with a finished trace: handlers for ``on_trace_ready``."""

from __future__ import annotations

import os
import socket
import time
from typing import Any, Callable

from ..errors import StepscopeError
from .warn import warn_user
from .xplane_file import export, holds_xplane


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """Writes each trace as ``<worker>.<time in ns>.pt.trace.json[.gz]`` into a directory, which is made if need be.
    TensorBoard and ``stepscope view DIRECTORY`` read it. The worker is ``<host>_<process id>`` if not named; name it
    where several processes share host and id, as containers do. What JAX or TensorFlow recorded is written as
    ``plugins/profile/<time>/<host>.xplane.pb`` instead.

    It works with ``torch.profiler.profile`` too. A trace that cannot be written is a warning: training goes on.

    >>> handler = tensorboard_trace_handler("runs/profile", use_gzip=True)
    """
    directory = os.fspath(dir_name)
    worker = worker_name

    def write(profiler: Any) -> None:
        nonlocal worker
        if not worker:
            worker = f"{socket.gethostname()}_{os.getpid()}"
        suffix = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        path = os.path.join(directory, f"{worker}.{time.time_ns()}{suffix}")
        try:
            os.makedirs(directory, exist_ok=True)
            if holds_xplane(profiler):
                export(profiler._finished(), directory, worker_name)
                return
            profiler.export_chrome_trace(path)
        except (OSError, StepscopeError, RuntimeError) as error:
            warn_user(f"no trace was written to {directory}: {error}")

    return write
