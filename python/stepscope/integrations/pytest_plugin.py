"""A plugin for pytest: where the tests spend their time, and traces of them.

``pytest --stepscope`` prints the slowest tests with their wall time, processor time and growth of memory.
``--stepscope-dir DIR`` writes a trace of the session with a region for each test; with ``--stepscope-each`` one
trace for each test, with the operators of PyTorch if it is used. ``--stepscope-fail-over SECONDS`` fails tests
that take longer.
"""

from __future__ import annotations

from typing import Any

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


def pytest_configure(config: Any) -> None:
    """Everything else is loaded only if it is asked for: this module is part of every test run."""
    wanted = (
        config.getoption("stepscope")
        or config.getoption("stepscope_dir")
        or config.getoption("stepscope_fail_over") is not None
    )
    if wanted:
        from ._pytest_session import SessionPlugin

        config.pluginmanager.register(SessionPlugin(config), _PLUGIN)
    elif config.getoption("stepscope_each"):
        import pytest

        raise pytest.UsageError("--stepscope-each needs --stepscope-dir DIR")


def pytest_unconfigure(config: Any) -> None:
    """The run is over."""
    if config.pluginmanager.hasplugin(_PLUGIN):
        config.pluginmanager.unregister(name=_PLUGIN)
