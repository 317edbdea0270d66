"""Counting the Python processes that a script starts, none of which is recorded."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

_FORKS = ("os.fork", "os.forkpty")


class Children:
    """Counts from :meth:`start` on. Programs that are not Python, such as ``nvidia-smi``, do not count."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._forked = 0
        self._launched = 0
        self._counting = False

    def start(self) -> None:
        """Begin to count. What Python audits is the one thing that tells and changes nothing; it cannot be taken back,
        but it can be deaf."""
        self._counting = True
        sys.addaudithook(self._heard)

    def stop(self) -> int:
        """End; how many there were."""
        self._counting = False
        return self._forked + self._launched + _by_multiprocessing()

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._counting:
            return
        if event in _FORKS:
            # Those of multiprocessing are counted by itself, however it starts them.
            if sys._getframe(1).f_globals.get("__name__") != "multiprocessing.popen_fork":
                self._forked += os.getpid() == self._process
        elif event == "subprocess.Popen":
            self._launched += os.getpid() == self._process and _is_python(*arguments[:2])


def _is_python(executable: Any, arguments: Any) -> bool:
    """Whether this runs Python."""
    first = arguments[0] if isinstance(arguments, (list, tuple)) and arguments else arguments
    try:
        name = os.path.basename(os.fsdecode(executable or first))
    except Exception:  # the script's own error, which it gets without us; from here it would look like ours
        return False
    return name.startswith("python") or name == os.path.basename(sys.executable)


def _by_multiprocessing() -> int:
    """How many processes ``multiprocessing`` made in this process: it numbers them from 1."""
    counter = getattr(sys.modules.get("multiprocessing.process"), "_process_counter", None)
    # What comes next can be read only by taking it, or from how it looks: "count(3)".
    shown = re.fullmatch(r"count\((\d+)\)", repr(counter))
    return int(shown[1]) - 1 if shown else 0
