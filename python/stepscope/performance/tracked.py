"""A region that is looked at by probes: memory, the machine, GPUs, arithmetic, lines.

The time that the probes take is in neither the region's time nor its parent's own time; it is summed up as overhead.
"""

from __future__ import annotations

from time import process_time_ns
from typing import Any

from .._native import now_ns
from .probe import Probe
from .region import Region
from .resources import Resources


class TrackedRegion(Region):
    """One stretch of the program and what it used."""

    __slots__ = ("tokens", "began_ns", "cpu_start_ns")

    tokens: list[tuple[Probe, Any]]
    began_ns: int
    cpu_start_ns: int

    def __enter__(self) -> TrackedRegion:
        self.open()
        self.began_ns = now_ns()
        registry = self.state
        if self.parent is not None:
            self.parent.open_child(self.began_ns)
        self.tokens = tokens = []
        for probe in tuple(registry.probes):
            try:
                tokens.append((probe, probe.enter(self)))
            except Exception as error:
                registry.give_up(probe, error)
        self.enter_recording()
        self.cpu_start_ns = process_time_ns()
        # The clock of the monitor, so that its samples can be compared with the region.
        self.start_ns = registry.resumed_ns = now_ns()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.end_ns = end_ns = max(now_ns(), self.start_ns + 1)
        cpu_ns = process_time_ns() - self.cpu_start_ns
        self.leave_recording()
        aggregate = self.aggregate
        registry = self.state
        resources = Resources()
        for probe, token in reversed(self.tokens):
            try:
                probe.exit(self, token, resources)
            except Exception as failure:
                registry.give_up(probe, failure)
        self.tokens.clear()
        self.resources = resources
        details = self.details(kind is not None, self.is_repeated(), resources.marks)
        self.record = (end_ns - self.start_ns, cpu_ns, self.covered(end_ns), details)
        registry.ended_last = self
        overhead_ns = (self.start_ns - self.began_ns) + (now_ns() - end_ns)
        aggregate.add(self.record, resources, max(0, overhead_ns))
        registry.resumed_ns = left_ns = now_ns()
        if self.parent is not None:
            self.parent.close_child(left_ns)
