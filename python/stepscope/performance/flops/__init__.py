"""How much arithmetic a region did."""

from __future__ import annotations

from .probe import FlopProbe

__all__ = ["FlopProbe"]
