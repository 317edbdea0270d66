"""What the pytest plugin does with benchmarks: collect, compare with the baseline, fail, save."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ..errors import StepscopeError
from ._pytest_benchmark import Baseline, Benchmark, Verdict, seconds

NAME = "stepscope-gate"


class GatePlugin:
    """Holds the benchmarks of a session."""

    def __init__(self, config: Any) -> None:
        self._path: str | None = config.getoption("stepscope_baseline")
        self._save: bool = config.getoption("stepscope_save")
        self._margin: float = config.getoption("stepscope_max_slowdown") / 100
        self._max_time_s: float = config.getoption("stepscope_benchmark_time")
        self._rounds: dict[str, list[float]] = {}
        self._verdicts: list[Verdict] = []
        self._unknown: list[str] = []
        if self._save and self._path is None:
            raise pytest.UsageError("--stepscope-save needs --stepscope-baseline FILE")
        if self._save and config.getoption("numprocesses", None):
            raise pytest.UsageError("benchmarks disturb each other: use --stepscope-save without -n")
        try:
            self._baseline = None if self._path is None else Baseline(self._path)
        except StepscopeError as error:
            raise pytest.UsageError(str(error)) from error

    def benchmark(self, name: str) -> Iterator[Benchmark]:
        """One test's benchmark; compared when the test is over."""
        benchmark = Benchmark(name, self._max_time_s)
        yield benchmark
        if not benchmark.rounds:
            return
        self._rounds[benchmark.name] = benchmark.rounds
        if self._baseline is None or self._save:
            return
        known = self._baseline.sessions.get(benchmark.name)
        if not known:
            self._unknown.append(benchmark.name)
            return
        verdict = Verdict(benchmark.name, known, benchmark.rounds, self._margin)
        self._verdicts.append(verdict)
        if verdict.outcome == "fail":
            pytest.fail(f"slower than its baseline: {verdict.words()}", pytrace=False)

    def pytest_sessionfinish(self) -> None:
        """All tests have run."""
        if self._save and self._baseline is not None and self._rounds:
            self._baseline.add(self._rounds)
            self._baseline.write()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What came of it."""
        if not self._rounds:
            return
        terminalreporter.section("stepscope: benchmarks")
        for verdict in self._verdicts:
            terminalreporter.line(verdict.words())
        judged = {verdict.name for verdict in self._verdicts}
        for name, rounds in self._rounds.items():
            if name not in judged:
                middle = sorted(rounds)[len(rounds) // 2]
                terminalreporter.line(f"{name}: {seconds(middle)}, {len(rounds)} rounds")
        if self._unknown:
            terminalreporter.line(f"not in the baseline: {', '.join(self._unknown)}; add them with --stepscope-save")
        if self._save:
            terminalreporter.line(f"saved to {self._path}; run it a few times more, so that sessions count as repeats")
