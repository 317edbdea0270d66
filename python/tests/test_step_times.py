"""Steps that are timed without a profiler, as ``stepscope check -- python train.py`` asks for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFIGURED = """
import stepscope, time
with stepscope.configure({"profiling": {"active": 2}}) as profiling:
    for _ in range(5):
        time.sleep(0.01)
        profiling.step()
print(bool(profiling))
"""

PROFILED = """
import stepscope, time
with stepscope.profile(activities=[stepscope.ProfilerActivity.CPU]) as prof:
    for _ in range(4):
        time.sleep(0.01)
        prof.step()
"""

FORKED = """
import os, stepscope
profiling = stepscope.configure({})
profiling.step()
profiling.step()
if os.fork() == 0:
    profiling.step()
    os._exit(0)
os.wait()
profiling.step()
"""


def run(program: str, folder: Path, **environment: str) -> tuple[str, list[list[str]]]:
    """What a program prints, and the lines of each file of steps."""
    variables = {**os.environ, "STEPSCOPE_STEP_TIMES": str(folder), **environment}
    done = subprocess.run([sys.executable, "-c", program], env=variables, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = sorted(folder.glob("steps-*"), key=lambda path: int(path.name.split("-")[1]))
    return done.stdout, [path.read_text().splitlines() for path in files]


def test_a_configured_loop_is_timed_and_not_profiled(tmp_path: Path) -> None:
    printed, (lines,) = run(CONFIGURED, tmp_path, RANK="3")
    assert printed == "False\n" and lines[0] == "rank 3" and "profiled" not in lines
    moments = [int(line) for line in lines[1:]]
    assert len(moments) == 5
    assert all(after - before >= 10_000_000 for before, after in zip(moments, moments[1:]))
    assert not (tmp_path / "profiler_traces").exists()


def test_a_program_that_profiles_itself_says_so(tmp_path: Path) -> None:
    _, (lines,) = run(PROFILED, tmp_path)
    assert lines[0] == "rank -" and lines.count("profiled") == 1
    assert sum(line.isdigit() for line in lines) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_a_file_of_its_own(tmp_path: Path) -> None:
    _, (parent, child) = run(FORKED, tmp_path, RANK="")
    assert [sum(line.isdigit() for line in lines) for lines in (parent, child)] == [3, 1]


def test_without_the_variable_nothing_is_written(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "STEPSCOPE_STEP_TIMES"}
    subprocess.run([sys.executable, "-c", CONFIGURED], env=environment, cwd=tmp_path, check=True)
    assert not list(tmp_path.glob("steps-*")) and (tmp_path / "profiler_traces").exists()


def test_a_folder_that_is_gone_does_not_matter(tmp_path: Path) -> None:
    printed, files = run(CONFIGURED, tmp_path, STEPSCOPE_STEP_TIMES=str(tmp_path / "gone"))
    assert printed == "False\n" and files == []
