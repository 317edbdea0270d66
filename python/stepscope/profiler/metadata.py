"""What a trace says about the run it is from, where PyTorch does not write it."""

from __future__ import annotations

import json

from .._ranks import process_place


def environment_metadata() -> dict[str, str]:
    """The place of this process among others, as JSON texts."""
    place = process_place()
    return {} if place is None else {"distributedInfo": json.dumps({"rank": place[0], "world_size": place[1]})}


#: Says that :class:`stepscope.profile` made the file; hints about it speak of that then.
OURS = {"stepscope_recorder": '"profile"'}


def program_metadata(words: list[str]) -> dict[str, str]:
    """The program that ``stepscope run`` ran, as one would type it, as a JSON text.

    >>> program_metadata(["-m", "package.train"])
    {'stepscope_program': '["-m", "package.train"]'}
    """
    return {"stepscope_program": json.dumps(words)}


def lost_metadata(lost_regions: int) -> dict[str, str]:
    """How many regions there was no room for, as a JSON text; nothing if none was lost.

    >>> lost_metadata(7)
    {'lostRegions': '7'}
    """
    return {"lostRegions": str(lost_regions)} if lost_regions else {}
