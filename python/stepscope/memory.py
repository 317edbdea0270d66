"""Who allocates memory, and who keeps it.

>>> import stepscope.memory
>>> with stepscope.memory.track() as memory:
...     rows = [bytes(1000) for _ in range(1000)]
>>> memory.peak > 1_000_000
True

``stepscope run --memory script.py`` does the same for a whole script.

On GPUs, PyTorch's allocator keeps a history if you ask it to::

    with stepscope.memory.record(path="memory.pickle", oom_path="oom.pickle"):
        train()

and ``stepscope memory memory.pickle --leaks`` says what grows, ``stepscope memory oom.pickle --oom`` why it ran out.
With ``batch=`` in two recordings or more, ``stepscope memory A B --fit`` says which batch fits.
"""

from __future__ import annotations

from ._exact.memory import SAMPLE_BYTES, track
from ._exact.memray_file import from_memray
from ._gpu_memory import MAX_ENTRIES, Recording, record, save_on_oom, snapshot

__all__ = [
    "MAX_ENTRIES",
    "Recording",
    "SAMPLE_BYTES",
    "from_memray",
    "record",
    "save_on_oom",
    "snapshot",
    "track",
]
