"""Whether named operations got slower than a baseline says."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from .._native import compare_samples
from ..errors import StepscopeError, StepscopeWarning
from .profiler import PerformanceProfiler
from .region import Region
from .report import write_json

_HINT = 'make one: detector = PerformanceRegressionDetector({}), run the operations, detector.save("baseline.json")'


class PerformanceRegression(StepscopeError):
    """An operation took longer than its baseline allows."""

    def __init__(self, name: str, baseline_s: float, current_s: float) -> None:
        change = f"{100 * (current_s / baseline_s - 1):+.1f}%" if baseline_s else "from 0"
        super().__init__(
            f"{name} took {current_s:.4g} s, {change} against the baseline of {baseline_s:.4g} s",
            hint="one run is noisy: `stepscope check` repeats a program and decides by statistics",
        )
        self.name = name
        self.baseline_s = baseline_s
        self.current_s = current_s


class PerformanceRegressionDetector:
    """Compares operations with a baseline: a JSON file with ``wall_time_s`` by name, or a mapping.

    ``{"model_training": {"wall_time_s": 12.5}}``; what ``PerformanceProfiler.export`` writes is read too. A baseline's
    ``wall_time_s`` means what ``get_metrics().timing.wall_time_s`` means: one occurrence, from start to end.

    >>> detector = PerformanceRegressionDetector({"sum": {"wall_time_s": 10.0}})
    >>> with detector.check_regression("sum"):
    ...     total = sum(range(1000))
    >>> detector.regressions
    []
    """

    def __init__(
        self,
        baseline: str | os.PathLike[str] | Mapping[str, Mapping[str, Any]],
        profiler: PerformanceProfiler | None = None,
    ) -> None:
        #: ``wall_time_s`` by operation.
        self.baseline: dict[str, dict[str, Any]]
        if isinstance(baseline, Mapping):
            self.baseline = _entries(baseline, "the mapping")
        else:
            self.baseline = self.load_baseline(baseline)
        self.profiler = profiler or PerformanceProfiler()
        #: What was slower than allowed: (name, baseline, current), in seconds.
        self.regressions: list[tuple[str, float, float]] = []
        self._seen: list[str] = []

    def load_baseline(self, path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
        """The entries of a file."""
        place = os.fspath(path)
        try:
            with open(place, encoding="utf-8") as file:
                content = json.load(file)
        except FileNotFoundError:
            raise StepscopeError(f"there is no baseline file: {place}", hint=_HINT) from None
        except (OSError, ValueError) as error:
            hint = "restore it from version control, or write it anew with detector.save(path)"
            raise StepscopeError(f"this baseline cannot be read ({error}): {place}", hint=hint) from error
        return _entries(content, place)

    def check_regression(self, name: str, threshold: float = 0.2) -> OperationCheck:
        """A context manager around the operation: an alert if it takes more than ``threshold`` (a share) longer.

        What fails inside goes through, and is not compared.
        """
        if not threshold >= 0:
            raise StepscopeError(
                f"threshold is {threshold!r}", hint="give a share: 0.2 allows 20% more than the baseline"
            )
        return OperationCheck(self, name, threshold)

    def alert_regression(self, name: str, baseline: float, current: float) -> None:
        """Called for an operation that was slower than allowed; times in seconds. Raises, unless overridden."""
        raise PerformanceRegression(name, baseline, current)

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes a baseline of what was measured here, on top of the one that was given. Returns its path."""
        content = {name: dict(entry) for name, entry in self.baseline.items()}
        for name in self._seen:
            content[name] = {"wall_time_s": self.profiler.get_metrics(name).timing.wall_time_s}
        write_json(os.fspath(path), content)
        return os.fspath(path)

    def _ended(self, name: str, threshold: float) -> None:
        current = self.profiler.get_metrics(name).timing.wall_time_s
        if name not in self._seen:
            self._seen.append(name)
        entry = self.baseline.get(name)
        if entry is None:
            known = ", ".join(sorted(self.baseline)) or "nothing yet"
            words = f"the baseline has no {name!r}, so it was measured but not compared (it has: {known})"
            warnings.warn(words, StepscopeWarning, stacklevel=3)
            return
        baseline = entry["wall_time_s"]
        # One run says nothing about its noise, so it counts as it is.
        if json.loads(compare_samples([[baseline]], [[current]], threshold, 0.95, counted=True))["beyond"]:
            self.regressions.append((name, baseline, current))
            self.alert_regression(name, baseline, current)


class OperationCheck:
    """One operation that is compared when it ends."""

    def __init__(self, detector: PerformanceRegressionDetector, name: str, threshold: float) -> None:
        self._detector = detector
        self._name = name
        self._threshold = threshold
        self._region: Region | None = None

    def __enter__(self) -> OperationCheck:
        self._region = self._detector.profiler.profile(self._name)
        self._region.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._region is not None:
            self._region.__exit__(kind, error, traceback)
            self._region = None
        if error is None:
            self._detector._ended(self._name, self._threshold)


def _entries(content: object, place: str) -> dict[str, dict[str, Any]]:
    """``wall_time_s`` by name, from a plain baseline or from what a profiler exports."""
    shape = '{"name": {"wall_time_s": seconds}}'
    if not isinstance(content, Mapping):
        raise StepscopeError(f"this is not a baseline: {place}", hint=f"it looks like this: {shape}")
    regions = content.get("regions")
    if "format" in content and isinstance(regions, Mapping):
        content = {name: region.get("timing", {}) for name, region in regions.items() if isinstance(region, Mapping)}
    entries = {}
    for name, entry in content.items():
        seconds = entry.get("wall_time_s") if isinstance(entry, Mapping) else None
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
            raise StepscopeError(
                f"the baseline has no wall_time_s for {name!r}: {place}", hint=f"it looks like {shape}"
            )
        entries[str(name)] = dict(entry)
    return entries
