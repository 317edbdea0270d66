"""The pytest plugin, in real runs of pytest."""

from __future__ import annotations

import gzip
import json
import re
import sys

import pytest

pytest_plugins = ["pytester"]
PLUGIN = "stepscope.integrations.pytest_plugin"


@pytest.fixture
def tests(pytester, monkeypatch):
    """A folder with tests, and a way to run them in a fresh process with the plugin."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        test_some="""
        import time
        import pytest

        def test_quick():
            pass

        def test_sleeps():
            time.sleep(0.15)

        def test_computes():
            end = time.process_time() + 0.1
            while time.process_time() < end:
                sum(range(100))

        def test_allocates():
            block = bytearray(64 << 20)
            block[::4096] = b"x" * len(block[::4096])
            time.sleep(0.1)

        @pytest.mark.parametrize("value", ["a/b"])
        def test_fails(value):
            assert value == "c"

        @pytest.mark.skip
        def test_skipped():
            pass
        """
    )
    return lambda *options: pytester.runpytest_subprocess("-p", PLUGIN, "-p", "no:cacheprovider", *options)


def costs(result):
    """Wall s, CPU s and MiB by the name of the test."""
    found = {}
    for line in result.outlines:
        match = re.fullmatch(r" *([\d.]+) s +([\d.]+) s +\+([\d.]+) MiB  test_some\.py::(\S+)", line)
        if match:
            found[match.group(4)] = tuple(float(match.group(number)) for number in (1, 2, 3))
    return found


def test_the_slowest_tests_with_time_and_memory(tests):
    result = tests("--stepscope")
    result.assert_outcomes(passed=4, failed=1, skipped=1)
    found = costs(result)
    assert set(found) == {"test_quick", "test_sleeps", "test_computes", "test_allocates", "test_fails[a/b]"}
    assert list(found)[0] == max(found, key=lambda name: found[name][0])
    wall, cpu, _ = found["test_sleeps"]
    assert wall >= 0.15 and cpu < 0.1
    wall, cpu, _ = found["test_computes"]
    assert wall >= 0.09 and cpu >= 0.09
    assert 60 < found["test_allocates"][2] < 80
    assert found["test_quick"][2] < 5


def test_only_as_many_as_asked_for(tests):
    assert len(costs(tests("--stepscope", "--stepscope-top", "2"))) == 2


def test_nothing_without_an_option(tests):
    result = tests()
    assert "stepscope" not in result.stdout.str()
    result.assert_outcomes(passed=4, failed=1, skipped=1)


def test_pytest_finds_it_by_itself():
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution("stepscope").entry_points
    except PackageNotFoundError:
        pytest.skip("the package runs from the source tree, where pytest finds no plugins")
    assert [one.value for one in found if one.group == "pytest11"] == [PLUGIN]


def test_the_plugin_loads_nothing_unless_it_is_asked_for():
    import os
    import subprocess
    from pathlib import Path

    import stepscope

    code = f"import sys, {PLUGIN}; print([m for m in sys.modules if m.startswith('stepscope.profiler')])"
    parent = str(Path(stepscope.__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": parent}
    )
    assert done.stdout == "[]\n", done.stderr


def test_a_trace_of_the_session(tests, pytester):
    result = tests("--stepscope-dir", "traces")
    (trace,) = (pytester.path / "traces").iterdir()
    assert f"traces: stepscope view traces/{trace.name}" in result.stdout.str()
    names = {event.get("name") for event in json.load(gzip.open(trace, "rt"))["traceEvents"]}
    assert "test_some.py::test_quick" in names and "test_some.py::test_fails[a/b]" in names
    assert any("test_computes" in str(name) and name.startswith("test_some.py(") for name in names)


def test_a_trace_of_each_test(tests, pytester):
    tests("--stepscope-dir", "traces", "--stepscope-each").assert_outcomes(passed=4, failed=1, skipped=1)
    files = sorted(path.name for path in (pytester.path / "traces").iterdir())
    assert files == [
        f"test_some.py_{name}.pt.trace.json.gz"
        for name in ("test_allocates", "test_computes", "test_fails[a_b]", "test_quick", "test_sleeps")
    ]


def test_each_without_a_folder_is_told(tests):
    result = tests("--stepscope-each")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--stepscope-each needs --stepscope-dir DIR" in result.stderr.str()


def test_tests_over_the_limit_fail(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # The clock of the slow one is set forward, so that the limit may be one that no quick test ever takes.
    pytester.makepyfile(
        """
        import time

        def test_quick():
            pass

        def test_slow(monkeypatch):
            real = time.perf_counter
            monkeypatch.setattr(time, "perf_counter", lambda: real() + 500)

        def test_wrong():
            assert 0
        """
    )
    result = pytester.runpytest_subprocess("-p", PLUGIN, "--stepscope-fail-over", "300")
    result.assert_outcomes(passed=1, failed=2)
    assert re.search(r"took 5\d\d(\.\d+)? s, over the limit of 300 s", result.stdout.str())
    assert "slowest" not in result.stdout.str()


def test_tests_may_use_profilers_themselves(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        """
        import stepscope

        def test_it():
            with stepscope.profile() as prof:
                with stepscope.record_function("mine"):
                    pass
            assert "mine" in [event.key for event in prof.key_averages()]
        """
    )
    result = pytester.runpytest_subprocess("-p", PLUGIN, "--stepscope-dir", "traces", "--stepscope-each")
    result.assert_outcomes(passed=1)
    assert "uses a profiler itself" in result.stdout.str()


@pytest.mark.frameworks
def test_operators_of_pytorch_in_the_trace_of_a_test(pytester, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        test_ml="""
        def test_late():
            import torch
            torch.ones(3).exp()

        def test_profiled():
            import torch
            with torch.profiler.profile() as prof:
                torch.ones(3).sin()
            assert "aten::sin" in [event.key for event in prof.key_averages()]

        def test_after():
            import torch
            torch.ones(3).cos()
        """
    )
    result = pytester.runpytest_subprocess("-p", PLUGIN, "--stepscope-dir", "traces", "--stepscope-each")
    result.assert_outcomes(passed=3)
    files = sorted((pytester.path / "traces").iterdir())
    assert [path.name.split("_")[-1].split(".")[0] for path in files] == ["after", "late"]
    for path, operator in zip(files, ("aten::cos", "aten::exp")):
        assert operator in {event.get("name") for event in json.load(gzip.open(path, "rt"))["traceEvents"]}


def test_costs_come_from_the_processes_of_xdist(tests):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    found = costs(tests("-p", "xdist", "-n", "2", "--stepscope"))
    assert found["test_sleeps"][0] >= 0.15 and len(found) == 5
