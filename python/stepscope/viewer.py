"""The browser pages, served by a process of their own."""

from __future__ import annotations

import subprocess
import sys
from typing import Optional, Sequence

from .errors import StepscopeError


class Viewer:
    """A running ``stepscope view``. ``close()`` ends it, and so does the end of the program."""

    def __init__(self, paths: Sequence[str], *, port: Optional[int] = None, open_browser: bool = True) -> None:
        words = [sys.executable, "-m", "stepscope", "view", *paths]
        words += [] if port is None else ["--port", str(port)]
        words += [] if open_browser else ["--no-open"]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        assert self._process.stdout is not None and self._process.stderr is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url.startswith("http"):
            self._process.wait()
            raise StepscopeError(f"the pages cannot be shown: {self._process.stderr.read().strip()}")

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

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
