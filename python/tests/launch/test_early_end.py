"""A program may end while its iterations are recorded, in whatever way: what was recorded is kept."""

from __future__ import annotations

import gzip
import json
import os
import signal

import pytest

import stepscope

pytest.importorskip("torch", reason="PyTorch is not installed")

#: A few iterations are its beginning, however long a busy machine takes for them.
PROGRAM = """
import os, signal, sys
from stepscope._launch import recording_limits, window
recording_limits.BEGINNING_SECONDS, window._BEGINNING_S = 600.0, float("inf")
import torch
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(100):
    loss = model(torch.ones(2, 64)).sum()
    torch.ones(3).sin()
    if number == {last}:
        print("ends", flush=True)
        {ending}
    loss.backward()
    optimizer.step()
print("went on")
"""
WAYS = {
    "an error": "raise ValueError('mine')",
    "sys.exit": "sys.exit(3)",
    "os._exit": "os._exit(3)",
    "Ctrl-C": "os.kill(os.getpid(), signal.SIGINT)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGHUP": "os.kill(os.getpid(), signal.SIGHUP)",
}
#: How each of them ends a program of Python.
CODES = {"an error": 1, "sys.exit": 3, "os._exit": 3, "Ctrl-C": -2, "SIGTERM": -15, "SIGHUP": -1}
#: What ends in the same place of ours as others do.
NIGHTLY = {"sys.exit", "Ctrl-C", "SIGHUP"}


def ways(names, nightly=NIGHTLY):
    return [pytest.param(name, marks=[pytest.mark.nightly] if name in nightly else []) for name in names]


@pytest.fixture
def ended(tmp_path, script, python, popen):
    def end(way, last, *options):
        """What was said of a program that ended as it ends without us, and its trace."""
        file = script(PROGRAM.format(last=last, ending=WAYS[way]))
        process = popen("-o", "traces", *options, file, profiled=True)
        out, err = process.communicate(timeout=120)
        assert (out, process.returncode) == ("ends\n", CODES[way]), err
        (path,) = (tmp_path / "traces").glob("*.json.gz")
        with gzip.open(path) as text:
            return err, stepscope.open(path), json.load(text)

    return end


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("way", ways(WAYS))
def test_whole_steps_are_kept_and_the_last_is_cut(way, ended):
    # The twentieth iteration opens the window, and the next one warms the profiler up.
    err, trace, document = ended(way, 25, "--after", "20", "--iterations", "30")
    steps = trace.steps()
    assert [row["partial"] for row in steps] == [False] * 4 + [True]
    assert sum(event.get("name") == "aten::sin" for event in document["traceEvents"]) == 5
    assert "the script ended while iterations were recorded: 4 whole ones were" in err
    assert document["stepscope_phases"]["last_step_is_cut"] is True
    assert trace.ask("findings")["steps"] == 4


@pytest.mark.parametrize("way", ways(["os._exit", "SIGTERM"], {"SIGTERM"}))
def test_a_window_without_a_whole_step_leaves_the_beginning(way, ended):
    err, trace, document = ended(way, 21, "--after", "20", "--iterations", "30")
    assert "before steady ones were recorded" in err
    assert "stepscope_bare_steps" not in document and len(trace.steps()) > 2
    assert not any(row["partial"] for row in trace.steps())


@pytest.mark.parametrize("way", ways(["os._exit", "SIGTERM"], {"os._exit"}))
def test_a_program_without_a_window_is_saved_too(way, ended):
    _, trace, document = ended(way, 5, "--whole")
    assert sum(event.get("name") == "aten::sin" for event in document["traceEvents"]) == 6
    assert len(trace.steps()) == 4 and "last_step_is_cut" not in document["stepscope_phases"]


def test_signals_that_the_program_handles_stay_its_own(script, popen, tmp_path):
    file = script(
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    process = popen(file, profiled=True)
    process.communicate(timeout=120)
    assert process.returncode == 7


def test_forked_children_are_ended_as_always(script, popen):
    file = script(
        "import os, signal, time\n"
        "heard, told = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, os._exit.__module__, flush=True)\n"
        "    os.write(told, b'x')\n"
        "    time.sleep(60)\n"
        "os.read(heard, 1)\n"
        "os.kill(child, signal.SIGTERM)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    process = popen(file, profiled=True)
    out, err = process.communicate(timeout=120)
    assert out == f"True posix\n{-signal.SIGTERM}\n", err
