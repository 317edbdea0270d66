"""A plugin for pytest: where the tests spend their time, and traces of them.

``pytest --stepscope`` prints the slowest tests with their wall time, processor time and growth of memory.
``--stepscope-dir DIR`` writes a trace of the session with a region for each test; with ``--stepscope-each`` one
trace for each test, with the operators of PyTorch if it is used. ``--stepscope-fail-over SECONDS`` fails tests
that take longer.

The fixture ``stepscope_benchmark(function, *args)`` times a function. ``--stepscope-baseline FILE --stepscope-save``
keeps the times; without ``--stepscope-save`` a benchmark that is slower by more than ``--stepscope-max-slowdown``
percent fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

_PLUGIN = "stepscope-session"


def pytest_addoption(parser: Any) -> None:
    """Our options."""
    group = parser.getgroup("stepscope", "where tests spend their time")
    group.addoption("--stepscope", action="store_true", help="print the slowest tests with time and memory")
    group.addoption(
        "--stepscope-top", type=int, default=10, metavar="N", help="how many tests to print (default: %(default)s)"
    )
    group.addoption("--stepscope-dir", metavar="DIR", help="write a trace of the session to this folder")
    group.addoption(
        "--stepscope-each",
        action="store_true",
        help="with --stepscope-dir: one trace for each test, with PyTorch's operators",
    )
    group.addoption(
        "--stepscope-fail-over", type=float, metavar="SECONDS", help="fail a test whose call takes longer than this"
    )
    group.addoption(
        "--stepscope-baseline", metavar="FILE", help="compare stepscope_benchmark with the times in this file"
    )
    group.addoption("--stepscope-save", action="store_true", help="add this session's times to the baseline instead")
    group.addoption(
        "--stepscope-max-slowdown",
        type=float,
        default=5.0,
        metavar="PERCENT",
        help="how much slower than its baseline a benchmark may be (default: %(default)s)",
    )
    group.addoption(
        "--stepscope-benchmark-time",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="how long each benchmark is repeated (default: %(default)s)",
    )


def pytest_configure(config: Any) -> None:
    """Everything else is loaded only if it is asked for: this module is part of every test run."""
    if config.getoption("stepscope_baseline") or config.getoption("stepscope_save"):
        gate_of(config)
    wanted = (
        config.getoption("stepscope")
        or config.getoption("stepscope_dir")
        or config.getoption("stepscope_fail_over") is not None
    )
    if wanted:
        from ._pytest_session import SessionPlugin

        config.pluginmanager.register(SessionPlugin(config), _PLUGIN)
    elif config.getoption("stepscope_each"):
        raise pytest.UsageError("--stepscope-each needs --stepscope-dir DIR")


@pytest.fixture
def stepscope_benchmark(request: Any) -> Iterator[Any]:
    """Times a function: ``stepscope_benchmark(function, *args)`` returns what it returns."""
    yield from gate_of(request.config).benchmark(request.node.nodeid)


def gate_of(config: Any) -> Any:
    """What holds the benchmarks of this session."""
    from ._pytest_gate import NAME, GatePlugin

    found = config.pluginmanager.get_plugin(NAME)
    if found is None:
        found = GatePlugin(config)
        config.pluginmanager.register(found, NAME)
    return found


def pytest_unconfigure(config: Any) -> None:
    """The run is over."""
    if config.pluginmanager.hasplugin(_PLUGIN):
        config.pluginmanager.unregister(name=_PLUGIN)
