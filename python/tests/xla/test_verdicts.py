"""Programs with a planted mistake: it is found, with a saving that the mended twin proves, and the twin is clean."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from profiles import ENVIRONMENT

import stepscope

HERE = pathlib.Path(__file__).parent


def recorded(program: str, name: str, twin: str, folder: pathlib.Path) -> tuple[float, stepscope.Trace]:
    """The seconds per step without a profiler, and the profile."""
    line = [sys.executable, str(HERE / f"slow_{program}.py"), name, twin, str(folder / twin)]
    done = subprocess.run(line, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = (folder / twin).rglob("*.xplane.pb")
    return float(done.stdout.strip().splitlines()[-1]), stepscope.open(path)


# The saving that is promised is held against the time that the mended twin takes.
@pytest.mark.clock
@pytest.mark.parametrize(
    "program, name, rule",
    [
        ("jax", "input", "data_loading"),
        pytest.param("jax", "shapes", "compilation", marks=pytest.mark.nightly),
        pytest.param("jax", "eager", "eager_operations", marks=pytest.mark.nightly),
        pytest.param("jax", "double", "double_precision", marks=pytest.mark.nightly),
        pytest.param("tensorflow", "input", "data_loading", marks=pytest.mark.nightly),
        pytest.param("tensorflow", "retracing", "compilation", marks=pytest.mark.nightly),
        ("tensorflow", "eager", "eager_operations"),
        pytest.param("tensorflow", "keras", "data_loading", marks=pytest.mark.nightly),
    ],
)
def test_a_planted_mistake_is_found_and_its_twin_is_without(tmp_path, program, name, rule):
    # The program imports it, in a process of its own.
    if importlib.util.find_spec(program) is None:
        pytest.skip(f"{program} is not installed")
    slow_s, slow = recorded(program, name, "slow", tmp_path)
    fast_s, fast = recorded(program, name, "fast", tmp_path)
    saved = 1 - fast_s / slow_s
    assert saved > 0.3, (slow_s, fast_s)
    (finding,) = [found for found in slow.findings() if found["rule"] == rule]
    assert finding["severity"] == "high", finding
    # Half precision may save far more than the half that is promised.
    assert saved / 3 < finding["saves_share"] < saved + 0.25, (finding, saved)
    assert "torch" not in str(finding).lower()
    assert rule not in fast.findings().column("rule"), fast.findings()
    # A step lasts as long as its work, also where JAX runs ahead of it.
    measured = slow.steps().column("wall_ns")
    assert 0.4 * slow_s < sum(measured) / len(measured) / 1e9 < 4 * slow_s, (measured, slow_s)
