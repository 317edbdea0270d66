"""Children that may not be looked at from outside look at themselves, each into a trace beside the script's."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from ..config.profiling import trace_name

#: The capability to look into other processes, by its number.
_SYS_PTRACE = 19


def why_not_read() -> str | None:
    """Why this process may not read the memory of its children; None if it may, as far as the system says."""
    try:
        scope = int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
        status = Path("/proc/self/status").read_text()
    except (OSError, ValueError):
        return None
    (capabilities,) = [int(line[7:], 16) for line in status.splitlines() if line.startswith("CapEff:")] or [0]
    if scope >= 3 or (scope == 2 and not capabilities >> _SYS_PTRACE & 1):
        return f"kernel.yama.ptrace_scope is {scope}"
    return None


class SampledChild:
    """Samples of this process from :meth:`start` to :meth:`stop`."""

    def __init__(self, folder: str, gzip: bool, hz: float) -> None:
        from ..profiler.recorder import Recorder

        self._path = os.path.join(folder, trace_name(gzip))
        journal = self._path[: -len(".gz")] if gzip else self._path
        self._recorder = Recorder(False, journal.replace(".pt.trace.json", ".unfinished.pt.trace.json"), hz)

    def start(self) -> None:
        """Begin."""
        self._recorder.begin()

    def stop(self) -> None:
        """End."""
        self._recorder.end()

    def save(self, path: Any) -> None:
        """Write the trace, wherever other kinds of recordings would go."""
        from ..profiler.metadata import environment_metadata
        from ..profiler.saving import save_capture

        capture = self._recorder.finished
        if capture is not None and capture.recording.slices:
            save_capture(capture, self._path, environment_metadata())


def traces_of_children(folder: Path, own: Path, since_s: float) -> list[Path]:
    """The traces that children wrote into this folder in this run."""
    found: list[Path] = []
    with contextlib.suppress(OSError):
        for path in sorted(folder.glob("*.pt.trace.json*")):
            if path != own and path.stat().st_mtime >= since_s - 0.05:
                found.append(path)
    return found
