"""A region that is looked at by probes: memory, the machine, GPUs, arithmetic, lines.

The time that the probes take is in neither the region's time nor its parent's own time; it is summed up as overhead.
"""

from __future__ import annotations

import warnings
from time import process_time_ns
from typing import TYPE_CHECKING, Any, List, Tuple

from stepscope._native import now_ns

from ..errors import StepscopeWarning
from .region import Region
from .resources import Resources

if TYPE_CHECKING:
    from .core import Core
    from .probe import Probe


class TrackedRegion(Region):
    """One stretch of the program and what it used."""

    __slots__ = ("tokens", "began_ns", "cpu_start_ns")

    tokens: List[Tuple[Probe, Any]]
    began_ns: int
    cpu_start_ns: int

    def __enter__(self) -> TrackedRegion:
        self.open()
        self.began_ns = now_ns()
        core = self.aggregate.core
        if self.parent is not None:
            self.parent.open_child(self.began_ns)
        self.tokens = tokens = []
        for probe in tuple(core.probes):
            try:
                tokens.append((probe, probe.enter(self)))
            except Exception as error:
                _give_up(core, probe, error)
        self.cpu_start_ns = process_time_ns()
        # The clock of the monitor, so that its samples can be laid beside the region.
        self.start_ns = now_ns()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.end_ns = end_ns = max(now_ns(), self.start_ns + 1)
        cpu_ns = process_time_ns() - self.cpu_start_ns
        aggregate = self.aggregate
        core = aggregate.core
        resources = Resources()
        for probe, token in reversed(self.tokens):
            try:
                probe.exit(self, token, resources)
            except Exception as failure:
                _give_up(core, probe, failure)
        self.tokens.clear()
        self.resources = resources
        extra = self.extra(kind is not None, self.is_repeated(), resources.marks)
        self.record = (end_ns - self.start_ns, cpu_ns, self.covered(end_ns), extra)
        core.book.ended_last = self
        overhead_ns = (self.start_ns - self.began_ns) + (now_ns() - end_ns)
        aggregate.add(self.record, resources, max(0, overhead_ns))
        if self.parent is not None:
            self.parent.close_child(now_ns())


def _give_up(core: Core, probe: Probe, error: Exception) -> None:
    """The program goes on; the probe does not."""
    with core.lock:
        if probe in core.probes:
            core.probes.remove(probe)
            core.lost[probe.what] = f"{type(error).__name__}: {error}"
    warnings.warn(
        f"stepscope no longer measures {probe.what}: {type(error).__name__}: {error}", StepscopeWarning, stacklevel=3
    )
