"""How much arithmetic a region did."""

from __future__ import annotations

from .jax_ops import count_jax
from .probe import FlopProbe

__all__ = ["FlopProbe", "count_jax"]
