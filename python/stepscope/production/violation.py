"""What a hook learns about a target that was missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Violation:
    """A request that missed its target, or a share of requests that did.

    A target for each request (``2.0``) is missed by one request: ``latency`` and ``id`` are its own. A target for a
    share (``p95<100ms``) is missed once too many of the last five minutes' requests of this process do; that is
    reported once, and again after it was kept in between.
    """

    route: str
    target: str
    latency: float | None
    id: Any
    requests: int
    missed: int

    def __str__(self) -> str:
        if self.latency is not None:
            return f"{self.route}: a request took {self.latency:.3f} s ({self.target})"
        share = 100 * self.missed / max(self.requests, 1)
        return f"{self.route}: {share:.1f}% of {self.requests:,} requests missed {self.target}"
