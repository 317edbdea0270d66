"""What ``stepscope run`` records of a program in which it finds no iterations."""

from __future__ import annotations

import gzip
import json
import sys

import pytest

import stepscope

pytest.importorskip("torch", reason="PyTorch is not installed")

#: It begins soon, so that the test is short.
EAGER = """
from stepscope._launch import recording_limits, stretch
recording_limits.BEGINNING_SECONDS = stretch._PATIENCE_S = 0.4
stretch._LASTS_S = 1.0
"""
#: It simulates until there is a trace of it, which it looks for without a loop of Python's: that would be one to count.
SIMULATION = """
import itertools, os, time, torch

torch.nn.Linear(2, 2)(torch.ones(2))
state, since = torch.rand(256, 256), time.monotonic()
def simulate(_=None):
    global state
    state = torch.tanh(state @ state)
    return time.monotonic() - since < 60 and ".gz" not in "".join(os.listdir("traces"))
"""
LOOP = """
while simulate():
    for _ in range(3):
        simulate()
"""


def test_a_program_without_iterations_is_recorded_in_its_middle(tmp_path, script, stepscope_run):
    script(EAGER, "sites/sitecustomize.py")
    # In no loop that Python could tell of.
    got = stepscope_run("-o", "traces", script(SIMULATION + "all(map(simulate, itertools.repeat(None)))\n"))
    assert got.code == 0, got.err
    assert "no iterations were found: operators are recorded in a stretch of it only" in got.err
    (path,) = (tmp_path / "traces").glob("*.gz")
    with gzip.open(path) as text:
        events = json.load(text)["traceEvents"]
    operators = [event for event in events if event.get("cat") == "cpu_op"]
    assert {"aten::matmul", "aten::tanh"} <= {event["name"] for event in operators}
    # It is no longer than what was recorded, once that has begun: the profiler's own end is no part of it.
    busy_us = sum(event["dur"] for event in operators if event["name"] in ("aten::matmul", "aten::tanh"))
    began_us = min(event["ts"] for event in events if event.get("ph") == "X")
    first_us = min(event["ts"] for event in operators)
    recorded_us = stepscope.open(path).ask("summary")["step_ns"] / 1_000 - (first_us - began_us)
    assert busy_us > 0.3 * recorded_us, (busy_us, recorded_us)


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs sys.monitoring")
def test_turns_of_a_loop_are_iterations(tmp_path, script, stepscope_run):
    script(EAGER, "sites/sitecustomize.py")
    got = stepscope_run("-o", "traces", script(SIMULATION + LOOP))
    assert got.code == 0, got.err
    (path,) = (tmp_path / "traces").glob("*.gz")
    with gzip.open(path) as text:
        document = json.load(text)
    assert document["stepscope_iterations"]["found_by"] == "turns of a loop"
    assert len(document["stepscope_bare_steps"]["host_ns"]) >= 10
    assert "stepscope_phases" not in document, "when the first one ended is not known"
    operators = [event["name"] for event in document["traceEvents"] if event.get("cat") == "cpu_op"]
    assert operators.count("aten::tanh") == 4 * len(stepscope.open(path).steps())
