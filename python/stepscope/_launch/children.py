"""Counting the Python processes that a script starts, and what a report says about them."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from .._native import audit_hook

_FORKS = ("os.fork", "os.forkpty")


class Children:
    """Counts from :meth:`start` on. Programs that are not Python, such as ``nvidia-smi``, do not count."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._forked = 0
        self._launched = 0
        self._counting = False

    def start(self) -> None:
        """Begin to count. An audit hook is the only way to observe this without changing the program. It cannot be
        removed, so it is switched off instead."""
        self._counting = True
        sys.addaudithook(audit_hook([*_FORKS, "subprocess.Popen"], self._heard))

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
        else:
            self._launched += os.getpid() == self._process and _is_python(*arguments[:2])


#: Children that a report names.
_MAX_NAMED = 4


def words_about(started: int, seen: tuple[list[str], int, str | None] | None) -> tuple[list[str], list[str]]:
    """What to say about this many children: what everyone has to know, and what a report has besides. ``seen`` are the
    names of those that were sampled, how many more there was no room for, and why some may not be; None: no one looked.

    >>> words_about(3, (["worker-1 (pid 7)", "worker-2 (pid 8)"], 0, None))[1]
    ['2 child processes were sampled too: worker-1 (pid 7), worker-2 (pid 8); 1 more ended before it was sampled']
    >>> words_about(1, None)
    (['1 child process was not recorded'], [])
    """
    names, left_out, denied = seen or ([], 0, None)
    if not names and started:
        why = f": {denied}" if denied else " (too short to be sampled)" if seen else ""
        return [f"{_were(started)} not recorded{why}"], []
    notes = [f"some child processes were not recorded: {denied}"] if denied else []
    if left_out:
        notes.append(f"{_were(left_out)} not recorded: there was no room for more")
    if not names:
        return notes, []
    shown = ", ".join(names[:_MAX_NAMED]) + (
        f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    )
    text = f"{_were(len(names))} sampled too: {shown}"
    missed = started - len(names) - left_out
    if missed > 0 and not denied:
        text += f"; {missed:,} more ended before {'it was' if missed == 1 else 'they were'} sampled"
    return notes, [text]


def _were(count: int) -> str:
    return "1 child process was" if count == 1 else f"{count:,} child processes were"


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
