"""What this process is called."""

from __future__ import annotations

import os
import sys


def process_name() -> str:
    """What the process is called where several are shown: as ``multiprocessing`` named it, or after its script."""
    process = getattr(sys.modules.get("multiprocessing.process"), "_current_process", None)
    given = getattr(process, "_name", None)
    if given and given != "MainProcess":
        return str(given)
    script = os.path.basename(sys.argv[0] if getattr(sys, "argv", None) else "")
    return script if script and not script.startswith("-") else "python"
