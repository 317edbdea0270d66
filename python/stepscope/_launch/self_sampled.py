"""Children of a script that may not be looked at from outside: they look at themselves."""

from __future__ import annotations

import os
import time
from pathlib import Path

from .child_run import follow
from .follow import Plan
from .sampled_child import traces_of_children
from .window import SAMPLES_HZ


class SelfSampled:
    """Tells children to, from its creation to :meth:`stop`; ``why`` they may not be looked at."""

    def __init__(self, why: str, trace: Path, gzip: bool) -> None:
        self._why, self._trace, self._since_s = why, trace, time.time()
        options = {"folder": str(trace.parent), "gzip": gzip, "hz": SAMPLES_HZ}
        self._followed = follow(Plan("samples", str(trace), samples=options), None)
        self._followed.following.start()

    def stop(self, started: int) -> list[str]:
        """Ends; what the user has to know, if so many children were started."""
        self._followed.following.stop()
        if not started:
            return []
        folder = self._trace.parent
        traces = len(traces_of_children(folder, self._trace, self._since_s))
        return [
            f"child processes may not be sampled from outside ({self._why}), so they sampled themselves: "
            f"{traces:,} of {started:,} wrote a trace into {os.path.relpath(folder)}"
        ]
