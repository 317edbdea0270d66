"""``PerformanceProfiler``: named regions of a program and what each of them used."""

from __future__ import annotations

import os
import time
import warnings
import weakref
from typing import Any, Callable, overload

from .._decorate import Function
from .._native import TimedRegion, __version__
from .._units import MB
from ..errors import StepscopeError, StepscopeWarning
from .aggregate import Aggregate
from .assemble import Settings, Span, assemble, span_of_all, span_of_one
from .breakdown import TimingBreakdown, timing_breakdown
from .carbon import stated_intensity
from .compare import Comparison, Samples, compare
from .diagnose import Issue, Thresholds, diagnose, with_overrides
from .flops import FlopProbe
from .gpu_time import GpuTimeProbe
from .growth import GrowthProbe
from .leaks import LeakReport, leak_report
from .lines import LinePause, LineProbe, LineProfile, line_profile
from .memory import MemoryProbe, ObjectProbe
from .metrics import Metrics
from .monitor_session import MonitorProbe, MonitorSession
from .probe import Probe
from .reasons import WatchSettings, why_unknown
from .region import Amounts, Region
from .registry import RegionRegistry
from .report import REPORT_FORMAT, report, write_json
from .system import SystemReport, SystemStats, stats_now, system_report
from .torch_memory import TorchMemoryProbe, torch_with_cuda
from .torch_peaks import after_fork_in_child as torch_peaks_after_fork
from .tracked import TrackedRegion
from .unknown import Metric, Unknown

_profilers: weakref.WeakSet[PerformanceProfiler] = weakref.WeakSet()


class PerformanceProfiler:
    """Measures regions: time, memory, the machine, GPUs, arithmetic, energy.

    >>> profiler = PerformanceProfiler()
    >>> with profiler.profile("squares", samples=1000):
    ...     squares = [n * n for n in range(1000)]
    >>> metrics = profiler.get_metrics()
    >>> metrics.name, metrics.count, metrics.timing.wall_time_s > 0, metrics.throughput > 0
    ('squares', 1, True, True)

    What cannot be measured is :class:`~stepscope.performance.unknown.Unknown`: it prints as ``unknown`` in every
    format, every comparison with it is false, and ``metrics.missing`` says why. With ``track_gpu``, ``track_system``,
    ``detailed_memory`` and the others off, a region costs about a microsecond and only times are known.
    """

    def __init__(
        self,
        track_gpu: bool = True,
        track_carbon: bool = False,
        detailed_memory: bool = False,
        memory_interval: float = 0.1,
        track_cpu_temp: bool = False,
        track_network: bool = False,
        track_system: bool = True,
        system_interval: float = 0.1,
        estimate_flops: bool = False,
        enable_line_profiling: bool = False,
        *,
        carbon_intensity_g_per_kwh: float | None = None,
        country: str | None = None,
        pue: float = 1.0,
        keep: int = 1000,
    ) -> None:
        """Chooses what is measured.

        - ``track_gpu``: utilization, memory, temperature and energy of GPUs; PyTorch's memory and time on the GPU.
        - ``track_system``: processors, memory and disks of the machine.
        - ``memory_interval``, ``system_interval``: seconds between samples; the one sampler takes the shorter.
        - ``detailed_memory``: counts Python's objects at both ends of each region too, for :meth:`get_leak_report`.
        - ``track_cpu_temp``, ``track_network``: as they say.
        - ``track_carbon``: measured energy times ``carbon_intensity_g_per_kwh``, or the mean of ``country`` (ISO code,
          name or ``"world"``), times ``pue`` (what the building needs for each watt of the machine).
        - ``estimate_flops``: floating-point operations of PyTorch and numpy, and of JAX for functions that are wrapped
          with :func:`~stepscope.performance.count_jax`.
        - ``enable_line_profiling``: times lines of your own code; slows it down.
        - ``keep``: occurrences of each name that are held one by one.
        """
        for name, value, usual in (
            ("memory_interval", memory_interval, "0.1 (seconds)"),
            ("system_interval", system_interval, "0.1 (seconds)"),
            ("pue", pue, "1.2"),
        ):
            if not value > 0:
                raise StepscopeError(f"{name} is {value!r}; it must be greater than 0", hint=f"use for example {usual}")
        if keep < 1:
            raise StepscopeError(f"keep is {keep!r}; it must be at least 1", hint="the default is 1000")
        watched = WatchSettings(
            gpu=track_gpu,
            system=track_system,
            network=track_network,
            cpu_temperature=track_cpu_temp,
            memory=detailed_memory,
            energy=track_carbon,
            interval_s=min(memory_interval, system_interval),
        )
        intensity = stated_intensity(carbon_intensity_g_per_kwh, country)
        self._settings = Settings(watched, estimate_flops, track_carbon, intensity, pue)
        self._watch: MonitorSession | None = MonitorSession(watched.monitor) if watched.anything else None
        self._kept_open: list[int] = []
        self._registry = RegionRegistry(keep, self._probes(detailed_memory, estimate_flops, enable_line_profiling))
        self._registry.describe = self._describe
        self._known = self._registry.known
        self._region = TrackedRegion if self._registry.probes else Region
        _profilers.add(self)

    def _probes(self, detailed_memory: bool, flops: bool, lines: bool) -> list[Probe]:
        # Entered in this order and left in the opposite one: what disturbs most is closest to the region.
        probes: list[Probe] = []
        if self._watch is not None:
            probes += [GrowthProbe(), MonitorProbe(self._watch), MemoryProbe(self._rss_from_monitor)]
        if detailed_memory:
            probes.append(ObjectProbe())
        if self._settings.watched.gpu:
            probes += [TorchMemoryProbe(), GpuTimeProbe()]
        if flops:
            probes.append(FlopProbe())
        if lines:
            timing = LineProbe()
            probes = [LinePause(timing), *probes, timing]
        return probes

    # Regions

    @overload
    def profile(self, name: str, *, samples: float | None = None, items: float | None = None) -> Region: ...
    @overload
    def profile(self, name: Function, *, samples: float | None = None, items: float | None = None) -> Function: ...
    def profile(
        self, name: str | Callable[..., Any], *, samples: float | None = None, items: float | None = None
    ) -> Any:
        """A region, as a context manager or a decorator; they may be repeated, nested, and open in threads and tasks.

        An exception goes through it, and the region counts all the same. ``samples`` and ``items`` say how much is
        worked through, for ``metrics.throughput`` and ``metrics.items_per_second``; or call ``add_samples`` inside:

        >>> profiler = PerformanceProfiler(track_gpu=False, track_system=False)
        >>> with profiler.profile("epoch") as region:
        ...     for batch in range(3):
        ...         region.add_samples(32)
        >>> profiler.get_metrics().samples
        96
        >>> @profiler.profile("add")
        ... def add(a, b):
        ...     return a + b
        >>> add(1, 2), profiler.get_metrics("add").count
        (3, 1)
        """
        try:
            aggregate = self._known[name]  # type: ignore[index]
        except KeyError:
            if callable(name):
                return self.profile(getattr(name, "__qualname__", repr(name)), samples=samples, items=items)(name)
            name = str(name)
            aggregate = self._registry.aggregate_for(name)
        amounts = None if samples is None and items is None else Amounts(samples, items)
        return self._region(self._registry, aggregate, name, amounts)  # type: ignore[arg-type]

    def start(self) -> None:
        """Keeps the sampler running between regions, so that they start and end faster, until :meth:`stop`."""
        if self._watch is not None:
            try:
                self._kept_open.append(self._watch.open())
            except Exception as error:
                warnings.warn(f"stepscope cannot watch the machine: {error}", StepscopeWarning, stacklevel=2)

    def stop(self) -> None:
        """Ends what :meth:`start` began."""
        if self._watch is not None and self._kept_open:
            self._watch.close(self._kept_open.pop(), linger=False)

    def __enter__(self) -> PerformanceProfiler:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def reset(self) -> None:
        """Forgets all regions that have ended, and what the machine did."""
        self._registry.clear()
        if self._watch is not None:
            self._watch.clear()

    # What was measured

    def get_metrics(self, name: str | None = None, *, over: str = "last") -> Metrics:
        """The metrics of a region; without a name, of the one that ended last here (in this thread or task).

        ``over="last"``: of its last occurrence. ``over="all"``: times, samples, operations and energy of all
        occurrences added up, the highest peaks, the mean of the rest.
        """
        if over not in ("last", "all"):
            raise StepscopeError(f"over cannot be {over!r}", hint='use "last" or "all"')
        if name is None:
            region = self._registry.last_ended()
            if region is None:
                raise StepscopeError("no region has ended yet", hint='use: with profiler.profile("name"): ...')
            if over == "last":
                return self._describe(region)
            return self._of(region.name, self._aggregate(region.name), "all")
        return self._of(name, self._aggregate(name), over)

    def get_timing_breakdown(self, self_time: bool = True) -> TimingBreakdown:
        """Seconds by region name, such that they add up: own time, without that of the regions inside.

        ``.total(name)`` gives the time from start to end, ``.table()`` both as text.
        """
        return timing_breakdown(self._registry.everything(), self_time)

    def get_line_profile(self, name: str | None = None) -> LineProfile:
        """The lines that ran while a region was open, in all its occurrences, slowest first; own code only."""
        if not any(probe.what == "lines" for probe in self._registry.probes):
            reason = self._registry.lost.get("lines", "lines were not timed: enable_line_profiling is off")
            return LineProfile([], name or "", 0, 0.0, reason)
        aggregate = self._aggregate(self.get_metrics().name if name is None else name)
        with self._registry.lock:
            if aggregate.resources is None:
                return LineProfile([], aggregate.name, 0, 0.0, "no line was timed")
            return line_profile(aggregate.name, aggregate.resources)

    def get_leak_report(
        self, name: str | None = None, *, warmup: int | None = None, at_least_mb: float = 1.0
    ) -> LeakReport:
        """Whether memory grows from one occurrence of a region to the next, and inside it.

        Of a region around a loop that calls :meth:`get_current_memory` each time: whether it grows from call to call.

        ``.verdict`` is "leak", "no leak" or "too few"; the numbers behind it are in ``.growths``. If memory grows, but
        outside the region, that is not its own leak: ``.reason`` says so, and ``.grows_in`` names the innermost
        region inside which it grows, if one shows it. Heuristics; what other threads keep meanwhile counts too.
        Without a name: of the region with most occurrences. ``warmup`` occurrences are left out (a tenth, at least 2).
        """
        every = self._registry.everything()
        if name is not None:
            aggregate = self._aggregate(name)
        elif every:
            aggregate = max(every, key=lambda each: each.count)
        else:
            raise StepscopeError("no region has ended yet", hint='use: with profiler.profile("name"): ...')
        return leak_report(aggregate, warmup, at_least_mb, others=every)

    def compare(self, *names: str, samples: Samples = None) -> Comparison:
        """Regions side by side, all of them if none is named; ``.best("throughput")`` names the best.

        ``samples``: how many each occurrence worked through, for all or by name, where the regions were not given any.
        """
        chosen = names or tuple(aggregate.name for aggregate in self._registry.everything())
        return compare([self.get_metrics(name, over="all") for name in chosen], samples)

    def diagnose(
        self,
        metrics_or_name: None | str | Metrics = None,
        *,
        thresholds: Thresholds | None = None,
        **overrides: float,
    ) -> list[Issue]:
        """What the metrics of a region point to. Heuristics; to change a threshold: ``diagnose(cpu_percent=80)``."""
        metrics = metrics_or_name if isinstance(metrics_or_name, Metrics) else self.get_metrics(metrics_or_name)
        aggregate = self._find(metrics.name)
        leaks = leak_report(aggregate, others=self._registry.everything()) if aggregate is not None else None
        return diagnose(metrics, leaks, with_overrides(thresholds, overrides))

    # The machine

    def get_current_memory(self) -> Metric:
        """Megabytes (of 1,048,576 bytes) that this process holds in memory (RSS) now.

        Called in a loop inside one region, it also tells :meth:`get_leak_report` of that region whether memory grows.
        """
        held, used = MemoryProbe(self._rss_from_monitor).reading()
        region = self._registry.innermost_open()
        if region is not None and held is not None:
            region.aggregate.readings.append((held, used))
        return Unknown("this system does not say how much memory a process holds") if held is None else held / MB

    def get_current_gpu_memory(self) -> Metric:
        """The share of the GPU's memory that is in use, by any process: 0 to 1. Of several, the fullest in use."""
        torch = torch_with_cuda()
        if torch is not None:
            cuda = torch.cuda
            used = {cuda.current_device()} | {n for n in range(cuda.device_count()) if cuda.memory_reserved(n)}
            shares = [1.0 - free / total for free, total in (cuda.mem_get_info(device) for device in used)]
            return float(max(shares))
        if self._watch is None or not self._settings.watched.gpu:
            return Unknown("GPUs were not watched: track_gpu is off")
        percent = stats_now(self._watch.current(with_rates=False), self._why).gpu_memory_percent
        return percent / 100.0

    def get_current_system_stats(self) -> SystemStats:
        """The machine now: the newest sample while a region is open, else what a tenth of a second shows."""
        latest: dict[str, float] = {} if self._watch is None else self._watch.current()
        return stats_now(latest, self._why)

    def get_system_report(self) -> SystemReport:
        """The machine over all the time in which a region was open (or between ``start()`` and ``stop()``)."""
        if self._watch is None:
            return system_report({}, self._why, 0.0, None)
        monitor = self._watch.made
        cpu_s = None if monitor is None else monitor.cpu_seconds()
        return system_report(self._watch.totals(), self._why, self._watch.seconds(), cpu_s)

    # All of it

    def report(self, most: int = 50) -> str:
        """All regions as a table for a terminal."""
        every = self._registry.everything()
        return report(every, [self._of(each.name, each, "all") for each in every], self.notes, most)

    def export(self, path: str | os.PathLike[str]) -> str:
        """Writes all metrics as JSON; the file is written whole or not at all. Returns its path.

        Each region has what ``get_metrics(name)`` says, so its ``wall_time_s`` is that of the last occurrence, and
        under ``all`` what ``get_metrics(name, over="all")`` says.
        """
        every = self._registry.everything()
        breakdown = timing_breakdown(every, True)
        content = {
            "format": REPORT_FORMAT,
            "stepscope": __version__,
            "exported_at_unix_s": time.time(),
            "regions": {
                each.name: {
                    **self._of(each.name, each, "last").to_dict(),
                    "own_s": breakdown.own(each.name),
                    "inclusive_s": breakdown.total(each.name),
                    "all": self._of(each.name, each, "all").to_dict(),
                }
                for each in every
            },
            "overhead_s": breakdown.overhead_s,
            "system": self.get_system_report().to_dict(),
            "notes": self.notes,
        }
        write_json(os.fspath(path), content)
        return os.fspath(path)

    @property
    def notes(self) -> list[str]:
        """What to know about the metrics: names that were folded, probes that failed."""
        lost = [f"{what} is no longer measured: {why}" for what, why in self._registry.lost.items()]
        return [*self._registry.notes, *lost]

    def __repr__(self) -> str:
        every = self._registry.everything()
        state = "running" if self._watch is not None and self._watch.running else "idle"
        return f"<PerformanceProfiler: {len(every)} names, {sum(each.count for each in every):,} regions, {state}>"

    # Inside

    def _find(self, name: str) -> Aggregate | None:
        return self._known.get(name) or self._registry.patterns.get(name) or self._registry.folded(name)

    def _aggregate(self, name: str) -> Aggregate:
        found = self._find(name)
        if found is not None:
            found.fold()
        if found is None or not found.count:
            known = [aggregate.name for aggregate in self._registry.everything()][:20]
            hint = f"these have: {', '.join(known)}" if known else 'use: with profiler.profile("name"): ...'
            raise StepscopeError(f"no region {name!r} has ended yet", hint=hint)
        return found

    def _describe(self, region: TimedRegion) -> Metrics:
        aggregate = region.aggregate
        aggregate.fold()
        while aggregate.forward is not None:
            aggregate = aggregate.forward
        span = span_of_one(region.record, getattr(region, "resources", None))
        return self._assemble(region.name, aggregate, span)

    def _of(self, name: str, aggregate: Aggregate, over: str) -> Metrics:
        if over == "all" or aggregate.latest is None:
            return self._assemble(name, aggregate, span_of_all(aggregate))
        return self._assemble(name, aggregate, span_of_one(*aggregate.latest))

    def _assemble(self, name: str, aggregate: Aggregate, span: Span) -> Metrics:
        with self._registry.lock:
            return assemble(name, aggregate, span, self._settings, self._watch, self._registry.lost)

    def _why(self, counter: str) -> str:
        monitor = self._watch.made if self._watch is not None else None
        return why_unknown(counter, self._settings.watched, monitor)

    def _rss_from_monitor(self) -> int | None:
        if self._watch is None:
            return None
        held = self._watch.current(with_rates=False).get("process.rss_bytes")
        return None if held is None else int(held)

    def _after_fork_in_child(self) -> None:
        self._registry.after_fork_in_child()
        self._kept_open.clear()
        if self._watch is not None:
            self._watch.after_fork_in_child()


def _after_fork_in_child() -> None:
    torch_peaks_after_fork()
    for profiler in list(_profilers):
        profiler._after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
