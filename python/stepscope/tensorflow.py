"""``tf.profiler.experimental`` with our names: what it records, and what goes wrong in it, is ours to handle.

::

    from stepscope import tensorflow as profiler

    with profiler.Profile("logs"):
        for step, batch in enumerate(dataset):
            with profiler.Trace("train", step_num=step, _r=1):
                train_step(batch)

A profile is written to ``logs/plugins/profile/TIME/HOST.xplane.pb``, as TensorFlow does. TensorFlow's own functions
raise where a profiler runs already or none does; these warn, and training goes on.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from .errors import StepscopeError
from .profiler import profile
from .profiler.frameworks import imported
from .profiler.warn import warn_user
from .profiler.xplane_file import holds_xplane

__all__ = ["Profile", "Trace", "start", "stop"]

_running: Profile | None = None


class Profile:
    """Records what TensorFlow does in a ``with`` block, and writes it below ``logdir``.

    ``python_calls=True`` records the calls of Python functions too, which takes time.
    """

    def __init__(self, logdir: str | os.PathLike[str], *, python_calls: bool = False) -> None:
        #: The folder.
        self.logdir = os.fspath(logdir)
        #: The file that was written, once it is.
        self.path: str | None = None
        self._profile = profile(framework="tensorflow", with_stack=python_calls, monitor=False)

    def start(self) -> None:
        """Begin; ``with`` does it for you."""
        global _running
        if _running is not None and _running is not self:
            warn_user(f"a profile is being recorded already, into {_running.logdir}: it ends here, and is written")
            _running.stop()
        _running = self
        self._profile.start()

    def stop(self) -> str | None:
        """End, and write the profile; its path, or None if there is none."""
        global _running
        if _running is self:
            _running = None
        self._profile.stop()
        if not holds_xplane(self._profile):
            return None
        try:
            self.path = self._profile.export_xplane(self.logdir)
        except StepscopeError as error:
            warn_user(f"no profile was written: {error}")
        return self.path

    def __enter__(self) -> Profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Another one may have ended it.
        if _running is self:
            self.stop()


def start(logdir: str | os.PathLike[str], *, python_calls: bool = False) -> None:
    """Begin to record what TensorFlow does; :func:`stop` writes it below ``logdir``."""
    Profile(logdir, python_calls=python_calls).start()


def stop() -> str | None:
    """End what :func:`start` began, and write it; its path."""
    if _running is None:
        warn_user("stop() has no effect: nothing is being recorded")
        return None
    return _running.stop()


def Trace(name: str, **arguments: Any) -> Any:
    """A named region in the profile; with ``step_num=N, _r=1`` a step. It is TensorFlow's own."""
    return imported("tensorflow").profiler.experimental.Trace(name, **arguments)
