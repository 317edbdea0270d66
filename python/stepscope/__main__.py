"""The ``stepscope`` program. ``run`` starts a Python script, so Python does it; everything else is Rust's."""

from __future__ import annotations

import os
import signal
import sys

from ._native import main as native_main


def main() -> int:
    """Runs the program with the arguments of the command line; its exit code."""
    words = sys.argv[1:]
    if words[:1] == ["run"]:
        from ._run import main as run

        return run(words[1:])
    # Python would only note a Ctrl-C, and Rust would never hear of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    # For commands that run a program with this package (`try`).
    os.environ["STEPSCOPE_PYTHON"] = sys.executable
    return native_main(words)


if __name__ == "__main__":
    sys.exit(main())
