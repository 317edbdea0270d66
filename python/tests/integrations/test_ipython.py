"""The magics, in a real IPython shell."""

from __future__ import annotations

import gzip
import json
import pstats
import sys

import pytest

pytest.importorskip("IPython", reason="IPython is not installed")

from stepscope.errors import StepscopeError, StepscopeWarning

# Once PyTorch is imported, cells are recorded by its profiler too.
pytestmark = pytest.mark.either


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "stepscope")
    yield made
    InteractiveShell.clear_instance()


def names(path):
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
    with opened as file:
        return {event.get("name") for event in json.load(file)["traceEvents"]}


CELL = "import stepscope\nwith stepscope.record_function('in the cell'):\n    value = sum(range(1000))\nvalue"


def test_a_cell_is_run_recorded_and_shown(shell, tmp_path):
    shown = shell.run_cell_magic("stepscope", "-o sub/cell.json.gz", CELL)
    assert shell.user_ns["value"] == 499500
    assert "in the cell" in names(tmp_path / "sub" / "cell.json.gz")
    assert shown is shell.user_ns["_stepscope"]
    assert "cell.json.gz" in str(shown.path)


def test_a_temporary_trace_and_quiet(shell):
    assert shell.run_cell_magic("stepscope", "-q --no-monitor", CELL) is None
    assert "in the cell" in names(shell.user_ns["_stepscope"].path)


def test_a_statement(shell):
    shell.user_ns["calls"] = []
    trace = shell.run_line_magic("ssrun", "calls.append('x = -1')")
    assert shell.user_ns["calls"] == ["x = -1"]
    assert trace is shell.user_ns["_stepscope"]


def test_a_failing_cell_shows_its_own_error_and_has_a_trace(shell, capsys):
    cell = "import stepscope\nwith stepscope.record_function('r'):\n    1/0"
    shell.run_cell_magic("stepscope", "-q -o failed.json", cell)
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert "r" in names("failed.json")


def test_magics_and_await_inside_the_cell(shell):
    shell.run_cell_magic("stepscope", "-q", "import asyncio\nawait asyncio.sleep(0)\n%time done = 1")
    assert shell.user_ns["done"] == 1


def test_a_profiler_in_the_cell_goes_first(shell):
    with pytest.warns(StepscopeWarning, match="uses a profiler itself"):
        shell.run_cell_magic("stepscope", "", "import stepscope\nwith stepscope.profile() as prof:\n    pass")
    assert "_stepscope" not in shell.user_ns


def test_wrong_options_are_told(shell, capsys):
    from IPython.core.error import UsageError

    with pytest.raises(UsageError, match="--nonsense"):
        shell.run_cell_magic("stepscope", "--nonsense", "1")


@pytest.mark.frameworks
def test_operators_of_pytorch(shell, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    shell.run_cell_magic("stepscope", "-q -o ops.json", "import torch\ntorch.ones(3).exp()")
    assert "aten::exp" in names(tmp_path / "ops.json")


def test_without_ipython_the_error_teaches(monkeypatch):
    from stepscope.errors import StepscopeError

    monkeypatch.setitem(sys.modules, "IPython.core.magic", None)
    monkeypatch.delitem(sys.modules, "stepscope.integrations.ipython", raising=False)
    with pytest.raises(StepscopeError, match="IPython is not installed"):
        import stepscope.integrations.ipython  # noqa: F401


def test_calls_are_counted(shell, tmp_path, capsys):
    shell.run_cell("def square(x):\n    return x * x\n")
    shell.run_line_magic("ssfunctions", "-s calls -l 3 -o out.prof total = sum([square(i) for i in range(7)])")
    printed = capsys.readouterr().out
    assert shell.user_ns["total"] == 91 and "Ordered by: call count" in printed and "(square)" in printed
    rows = {label[2]: row[:2] for label, row in pstats.Stats(str(tmp_path / "out.prof")).stats.items()}
    assert rows["square"] == (7, 7) and rows["<built-in method builtins.sum>"] == (1, 1)
    shell.run_cell_magic("ssfunctions", "", "for i in range(3):\n    square(i)\n")
    assert {label[2]: row[1] for label, row in shell.user_ns["_stepscope"].stats.items()}["square"] == 3


def test_lines_are_timed(shell, tmp_path, capsys):
    shell.run_cell("def square(x):\n    y = x * x\n    return y\n")
    shell.run_line_magic("sslines", "-f square -o out.lprof [square(i) for i in range(7)]")
    printed = capsys.readouterr().out
    assert [line.split()[:2] for line in printed.splitlines() if "return y" in line] == [["3", "7"]]
    assert (tmp_path / "out.lprof").stat().st_size > 50
    with pytest.raises(StepscopeError, match="no function is named"):
        shell.run_line_magic("sslines", "square(3)")
    with pytest.raises(ZeroDivisionError):
        shell.run_line_magic("sslines", "-f square 1 / 0")


def test_memory_is_tracked(shell, tmp_path, capsys):
    shell.run_cell("def load(size):\n    table = bytearray(size)\n    return table\n")
    shell.run_line_magic("ssmem", "-f load -o out.mem kept = load(9_000_000)")
    printed = capsys.readouterr().out
    assert "Line #    Mem usage    Increment  Occurrences   Line Contents" in printed
    assert "PEAK" in printed and "load" in printed
    assert shell.user_ns["_stepscope"].peak > 9_000_000
    assert (tmp_path / "out.mem").stat().st_size > 100
