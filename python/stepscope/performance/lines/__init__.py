"""How long each line of the user's code took while a region was open."""

from __future__ import annotations

from .probe import LinePause, LineProbe
from .profile import LineProfile, LineStats, line_profile

__all__ = ["LinePause", "LineProbe", "LineProfile", "LineStats", "line_profile"]
