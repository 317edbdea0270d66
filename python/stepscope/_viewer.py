"""The browser pages, served by a process of their own."""

from __future__ import annotations

import collections
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

from ._native import main as native_main
from .errors import StepscopeError

MAX_ERROR_LINES = 50
"""Lines of the server's own messages that are kept, for an error."""


class Viewer:
    """A running ``stepscope view``. ``close()`` ends it, and so does the end of the program, however it ends."""

    def __init__(self, paths: Sequence[str], *, port: int | None = None, open_browser: bool = True) -> None:
        words = [sys.executable, "-m", "stepscope._viewer", "view"]
        words += [] if port is None else ["--port", str(port)]
        words += [] if open_browser else ["--no-open"]
        # A path may begin with a dash.
        words += ["--", *paths]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace"
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self._messages: collections.deque[str] = collections.deque(maxlen=MAX_ERROR_LINES)
        # No one reads what the server writes later on; a pipe that is full would stop it.
        reading_errors = _drained(self._process.stderr, self._messages)
        self.url = self._process.stdout.readline().strip()
        if not self.url.startswith("http"):
            self._process.wait()
            reading_errors.join()
            message = f"cannot show the trace in the browser: {''.join(self._messages).strip()}"
            raise StepscopeError(message, hint="run `stepscope view` in a terminal to see what it does")
        _drained(self._process.stdout, collections.deque(maxlen=0))

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None and self._process.poll() is None:
            self._process.kill()

    def __repr__(self) -> str:
        return f"Viewer({self.url!r})"

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank">open the trace in the browser</a>'


def _drained(pipe: IO[str], into: collections.deque[str]) -> threading.Thread:
    """Reads a pipe to its end on a thread of its own."""

    def read() -> None:
        with pipe:
            into.extend(pipe)

    thread = threading.Thread(target=read, name="stepscope-viewer", daemon=True)
    thread.start()
    return thread


def _serve() -> int:
    """The program, which ends when whoever started it is gone: then the other end of its input is closed."""

    def end_with_parent() -> None:
        while sys.stdin.buffer.read(1):
            pass
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    # Python would only note a Ctrl-C, and Rust would never hear of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return native_main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_serve())
