"""What looks at a region beyond its times: one object for each thing that is measured."""

from __future__ import annotations

from typing import Any

from .._native import TimedRegion
from .resources import Resources


class Probe:
    """Measures one thing of regions. It must leave the program as it found it.

    An error of its own ends the probe, not the program.
    """

    what = "something"
    """What it measures, for the warning if it fails."""

    def enter(self, region: TimedRegion) -> Any:
        """A region opens. What is returned comes back in :meth:`exit`."""
        raise NotImplementedError

    def exit(self, region: TimedRegion, token: Any, resources: Resources) -> None:
        """The region has ended: writes what was found into ``resources``."""
        raise NotImplementedError

    def after_fork_in_child(self) -> None:
        """The process has been forked: other threads, and what they held, are gone."""
