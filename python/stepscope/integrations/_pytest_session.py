"""What the pytest plugin does once it is asked for something: measure, record, report."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ..profiler import record_function
from ._pytest_costs import CostMeter, Costs, table
from ._pytest_traces import EachTest, WholeSession

#: How costs travel with a test's report, from the processes of pytest-xdist too.
_ATTRIBUTE = "stepscope"


class SessionPlugin:
    """Measures each test's call and makes it a region."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self._top: int = config.getoption("stepscope_top")
        self._fail_over: float | None = config.getoption("stepscope_fail_over")
        self._meter = CostMeter()
        self._measured: dict[str, Costs] = {}
        self._costs: dict[str, dict[str, Any]] = {}
        folder = config.getoption("stepscope_dir")
        # With pytest-xdist the tests run in other processes, which record them.
        recording = folder is not None and not config.getoption("numprocesses", None)
        each = recording and config.getoption("stepscope_each")
        self._each = EachTest(Path(folder)) if each else None
        self._session = WholeSession(Path(folder)) if recording and not each else None
        self._folder = folder

    def pytest_sessionstart(self) -> None:
        """The first thing that happens."""
        self._meter.start()
        if self._session is not None:
            self._session.start()

    def pytest_sessionfinish(self) -> None:
        """All tests have run."""
        self._meter.stop()
        if self._session is not None:
            self._session.stop()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """A test with its fixtures: one region."""
        with record_function(item.nodeid):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        """The test itself: measured, and recorded if each test has its own trace."""
        if self._each is not None:
            self._each.start(item.nodeid)
        measurement = self._meter.begin()
        with record_function("call"):
            yield
        self._measured[item.nodeid] = measurement.end()
        if self._each is not None:
            self._each.stop()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """Costs go with the report; a test over its limit has failed."""
        outcome = yield
        costs = self._measured.pop(item.nodeid, None) if call.when == "call" else None
        if costs is None:
            return
        report = outcome.get_result()
        setattr(report, _ATTRIBUTE, costs.as_dict())
        if self._fail_over is not None and report.passed and costs.wall_s > self._fail_over:
            report.outcome = "failed"
            limit = f"the limit of {self._fail_over:g} s (--stepscope-fail-over)"
            report.longrepr = f"took {costs.wall_s:.3f} s, over {limit}"

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A report arrives, perhaps from another process."""
        costs = getattr(report, _ATTRIBUTE, None)
        if costs is not None:
            self._costs[report.nodeid] = costs

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """What came of it."""
        shown = min(self._top, len(self._costs)) if self._config.getoption("stepscope") else 0
        if shown > 0:
            terminalreporter.section(f"stepscope: the {shown} slowest of {len(self._costs)} tests")
            for line in table(self._costs, self._top):
                terminalreporter.line(line)
            terminalreporter.line("memory: growth of the process during the test's call, sampled every 20 ms")
        for line in self._trace_lines():
            terminalreporter.line(line)

    def _trace_lines(self) -> list[str]:
        if self._folder is None:
            return []
        recorder = self._session or self._each
        lines = [f"stepscope: {note}" for note in recorder.notes] if recorder is not None else []
        target = self._session.path if self._session is not None and self._session.path is not None else self._folder
        return [*lines, f"traces: stepscope view {target}"]
