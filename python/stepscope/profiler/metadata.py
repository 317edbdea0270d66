"""What a trace says about the run it is from, where PyTorch does not write it."""

from __future__ import annotations

import json
import os


def environment_metadata() -> dict[str, str]:
    """The place of this process among others, as launchers such as ``torchrun`` tell it, as JSON texts.

    >>> os.environ.update(RANK="1", WORLD_SIZE="4")
    >>> environment_metadata()
    {'distributedInfo': '{"rank": 1, "world_size": 4}'}
    """
    try:
        rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return {}
    return {"distributedInfo": json.dumps({"rank": rank, "world_size": world_size})}
