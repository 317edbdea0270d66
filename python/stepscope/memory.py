"""Who allocates memory, and who keeps it.

>>> import stepscope.memory
>>> with stepscope.memory.track() as memory:
...     rows = [bytes(1000) for _ in range(1000)]
>>> memory.peak > 1_000_000
True

``stepscope run --memory script.py`` does the same for a whole script.
"""

from __future__ import annotations

from ._exact.memory import SAMPLE_BYTES, track
from ._exact.memray_file import from_memray

__all__ = ["SAMPLE_BYTES", "from_memray", "track"]
