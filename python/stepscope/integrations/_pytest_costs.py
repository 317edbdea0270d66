"""What one test costs: wall time, processor time, and how far memory grew meanwhile."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from .._native import Monitor, now_ns

#: Seconds between two readings of the process's memory.
INTERVAL_S = 0.02
_MEMORY_COUNTER = "process.rss_bytes"


@dataclass(frozen=True)
class Costs:
    """The costs of a test's own call, without its fixtures."""

    wall_s: float
    #: Of all threads of the process; other processes are not counted.
    cpu_s: float
    #: The highest resident memory seen, less that at the start; None where it cannot be read.
    memory_growth_bytes: int | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, which travel between processes."""
        return asdict(self)


class CostMeter:
    """Measures one test after the other."""

    def __init__(self) -> None:
        self._monitor = Monitor(INTERVAL_S, gpu=False, network=False, disk=False, temperature=False, power=False)

    def start(self) -> None:
        """Begin to watch memory."""
        self._monitor.start()

    def stop(self) -> None:
        """Watch no more."""
        self._monitor.stop()

    def begin(self) -> Measurement:
        """A test begins."""
        self._monitor.sample_now()
        return Measurement(self._monitor)


class Measurement:
    """The costs from its making to :meth:`end`."""

    def __init__(self, monitor: Any) -> None:
        self._monitor = monitor
        # A moment before the sample that was just taken, so that it counts as the first.
        self._start_ns = now_ns()
        self._wall_s = time.perf_counter()
        self._cpu_s = time.process_time()

    def end(self) -> Costs:
        """The test has ended."""
        cpu_s = time.process_time() - self._cpu_s
        wall_s = time.perf_counter() - self._wall_s
        self._monitor.sample_now()
        seen = self._monitor.window(self._start_ns, now_ns()).get(_MEMORY_COUNTER)
        growth = None if seen is None else max(0, round(seen["max"] - seen["first"]))
        return Costs(wall_s, cpu_s, growth)


def table(costs: dict[str, dict[str, Any]], top: int) -> list[str]:
    """The slowest tests as lines of text.

    >>> print("\\n".join(table({"test_a": {"wall_s": 1.5, "cpu_s": 0.25, "memory_growth_bytes": 3 << 20}}, 10)))
          wall       CPU     memory  test
       1.500 s   0.250 s   +3.0 MiB  test_a
    """
    slowest = sorted(costs.items(), key=lambda one: -one[1]["wall_s"])[:top]
    lines = [f"{'wall':>10}{'CPU':>10}{'memory':>11}  test"]
    for name, cost in slowest:
        growth = cost["memory_growth_bytes"]
        memory = "unknown" if growth is None else f"+{growth / 2**20:.1f} MiB"
        lines.append(f"{cost['wall_s']:>8.3f} s{cost['cpu_s']:>8.3f} s{memory:>11}  {name}")
    return lines
