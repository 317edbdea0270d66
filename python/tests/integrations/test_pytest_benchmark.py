"""The fixture that times functions, in sessions of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepscope import StepscopeError
from stepscope.integrations._pytest_benchmark import MIN_ROUNDS, Baseline, Benchmark, Verdict, seconds

PLUGIN = "stepscope.integrations.pytest_plugin"
TEST = """
import os, time

def test_wait(stepscope_benchmark):
    pause = float(os.environ["PAUSE"])
    assert stepscope_benchmark(lambda: time.sleep(pause) or 7) == 7
"""
# It takes as long as it says, whatever else the machine does: the clock is its own. Sessions differ by a little.
PLAYED = """
import os, random

def test_wait(stepscope_benchmark):
    now, chance = [0], random.Random(os.getpid())
    pause = float(os.environ["PAUSE"]) * chance.gauss(1, 0.01)
    stepscope_benchmark._clock = lambda: now[0]

    def wait():
        now[0] += int(pause * chance.gauss(1, 0.01) * 1e9)
        return 7

    assert stepscope_benchmark(wait) == 7
"""


def session(folder: Path, pause: float, *options: str, test: str = TEST) -> tuple[int, str]:
    (folder / "test_it.py").write_text(test)
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        PLUGIN,
        "--stepscope-benchmark-time",
        "0.1",
        *options,
    ]
    environment = {**os.environ, "PAUSE": str(pause), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_slower_function_fails_and_the_same_one_passes(tmp_path: Path) -> None:
    for _ in range(4):
        code, text = session(tmp_path, 0.005, "--stepscope-baseline", "b.json", "--stepscope-save", test=PLAYED)
        assert code == 0 and "saved to b.json" in text, text
    sessions = json.loads((tmp_path / "b.json").read_text())["rounds"]["test_it.py::test_wait"]
    assert len(sessions) == 4 and all(len(rounds) >= MIN_ROUNDS for rounds in sessions)
    check = ("--stepscope-baseline", "b.json", "--stepscope-max-slowdown", "400")
    code, text = session(tmp_path, 0.005, *check, test=PLAYED)
    assert code == 0 and "pass: test_it.py::test_wait" in text, text
    code, text = session(tmp_path, 0.05, *check, test=PLAYED)
    assert code == 1 and "slower than its baseline" in text, text


def test_without_options_a_benchmark_only_tells_its_time(tmp_path: Path) -> None:
    code, text = session(tmp_path, 0.001)
    assert code == 0 and re.search(r"test_it\.py::test_wait: [\d.]+ m?s", text) and "rounds" in text, text
    code, text = session(tmp_path, 0.001, "--stepscope-save")
    assert code == 4 and "needs --stepscope-baseline" in text, text
    (tmp_path / "b.json").write_text("{")
    code, text = session(tmp_path, 0.001, "--stepscope-baseline", "b.json")
    assert code == 4 and "cannot be read" in text and "hint" in text, text


def test_rounds_of_a_fast_function_hold_many_calls() -> None:
    now = [0]
    calls = [0]

    def clock() -> int:
        return now[0]

    def function() -> int:
        now[0] += 1_000
        calls[0] += 1
        return calls[0]

    benchmark = Benchmark("fast", 0.1, clock)
    last = benchmark(function)
    # A call takes a microsecond by this clock, so a round has a thousand, and 0.1 s have a hundred rounds.
    assert last == calls[0] == 1 + 1_000 * len(benchmark.rounds)
    assert len(benchmark.rounds) == 100 and set(benchmark.rounds) == {1e-6}
    with pytest.raises(StepscopeError, match="twice"):
        benchmark(function)


def test_verdicts() -> None:
    level = [[1.0 + 0.001 * ((round_ * 7 + run) % 5) for round_ in range(20)] for run in range(5)]
    same = Verdict("a", level, level[0], 0.05)
    slower = Verdict("a", level, [2 * value for value in level[0]], 0.05)
    assert (same.outcome, slower.outcome) == ("pass", "fail")
    assert slower.words().startswith("fail: a: 1.002 s before, 2.004 s now, +100.0%")
    assert Verdict("a", [[1.0]], [1.0], 0.05).outcome == "inconclusive"
    assert [seconds(value) for value in (2.0, 0.0125, 3e-6, 5e-9, None)] == [
        "2.000 s",
        "12.50 ms",
        "3.000 µs",
        "5 ns",
        "unknown",
    ]


def test_old_sessions_go(tmp_path: Path) -> None:
    baseline = Baseline(str(tmp_path / "new" / "b.json"))
    for number in range(25):
        baseline.add({"a": [float(number)]})
    baseline.write()
    again = Baseline(baseline.path)
    assert again.sessions == {"a": [[float(number)] for number in range(5, 25)]}
