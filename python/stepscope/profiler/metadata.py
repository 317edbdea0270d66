"""What a trace says about the run it is from, where PyTorch does not write it."""

from __future__ import annotations

import json
import os


def environment_metadata() -> dict[str, str]:
    """The place of this process among others, as launchers such as ``torchrun`` tell it in ``RANK`` and
    ``WORLD_SIZE``, as JSON texts."""
    try:
        rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return {}
    return {"distributedInfo": json.dumps({"rank": rank, "world_size": world_size})}


def lost_metadata(lost_regions: int) -> dict[str, str]:
    """How many regions there was no room for, as a JSON text; nothing if none was lost.

    >>> lost_metadata(7)
    {'lostRegions': '7'}
    """
    return {"lostRegions": str(lost_regions)} if lost_regions else {}
