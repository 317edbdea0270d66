"""The profiler of JAX or TensorFlow joins a run that is recorded already, once the program uses the framework.

Not before: starting it makes the framework look for devices, and what the program still wants to set up (platforms,
memory, other hosts) would come too late. Neither framework tells of its first use, so a thread looks out for it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable

from ..profiler.sampler import hide_this_thread
from ..profiler.xla_engine import COLLECTORS, XlaCollector
from ..profiler.xplane_file import save_xplane
from .late_import import ImportWatch

_EVERY_S = 0.005


class FrameworkJoin:
    """Starts the profiler of ``name`` in this process as soon as it may.

    ``safely`` calls what happens in the middle of the program, ``joined`` is called when it records, ``say`` takes
    what the user has to know.
    """

    def __init__(
        self,
        name: str,
        python_calls: bool,
        joined: Callable[[], None],
        safely: Callable[[Callable[[], None]], None],
        say: Callable[[str], None],
    ) -> None:
        self._name = name
        self._python_calls = python_calls
        self._joined = joined
        self._safely = safely
        self._say = say
        self._watch = ImportWatch(name, lambda _module: self._look_out())
        self._process = os.getpid()
        self._over = threading.Event()
        self._collector: XlaCollector | None = None
        self._folder: str | None = None
        self._path: str | None = None

    def start(self) -> None:
        """Begin to wait for the framework."""
        self._watch.start()

    def step(self, number: int) -> None:
        """A step has ended, and the next one, of this number, begins."""
        if self._collector is not None:
            self._collector.step_begins(number)

    def finish(self, folder: Path | None) -> Path | None:
        """End; the file that was written to ``folder``. Without a folder nothing is kept."""
        self._watch.stop()
        self._over.set()
        if os.getpid() != self._process:
            return None
        try:
            self._stop()
            if self._path is None or folder is None:
                return None
            return Path(save_xplane(self._path, str(folder)))
        finally:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _look_out(self) -> None:
        threading.Thread(target=self._wait, name="stepscope-first-use", daemon=True).start()

    def _wait(self) -> None:
        hide_this_thread()
        while not _in_use(self._name):
            if self._over.wait(_EVERY_S):
                return
        self._safely(self._join)

    def _join(self) -> None:
        if self._over.is_set():
            return
        collector = COLLECTORS[self._name](python_calls=self._python_calls)
        self._folder = tempfile.mkdtemp(prefix="stepscope-")
        try:
            collector.start(self._folder, lambda: self._safely(self._give_way))
        except Exception as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            self._say(f"operators of {collector.title} are not recorded: {reason}")
            return
        self._collector = collector
        self._joined()

    def _stop(self) -> None:
        collector, self._collector = self._collector, None
        if collector is not None:
            self._path = collector.stop()

    def _give_way(self) -> None:
        """The program starts the same profiler itself."""
        if self._collector is not None:
            title = self._collector.title
            self._stop()
            self._say(f"the script started {title}'s profiler itself: operators are recorded up to there")


def _in_use(name: str) -> bool:
    """Whether the program has begun to use the devices of a framework. Where that cannot be told, it has."""
    with contextlib.suppress(Exception):
        if name == "jax":
            return bool(_module("jax._src.xla_bridge").backends_are_initialized())
        context: Any = _module("tensorflow.python.eager.context").context_safe()
        return context is not None and bool(context._initialized)
    return True


def _module(name: str) -> Any:
    return sys.modules[name]
