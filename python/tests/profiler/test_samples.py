"""Samples per step: what a program says is in its trace and in its times, and what it does not say is unknown."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import stepscope
from stepscope import ProfilerActivity, StepscopeError, profile, schedule

# Once PyTorch is imported, its profiler records and we tell it of the samples.
pytestmark = pytest.mark.either

CPU = [ProfilerActivity.CPU]

CONFIGURED = """
import stepscope, time
with stepscope.configure({}) as profiling:
    for _ in range(4):
        time.sleep(0.002)
        profiling.step(samples=64)
"""


@pytest.fixture(autouse=True)
def no_news_about_cuda():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*CUDA is not available.*")
        yield


def recorded(path: Path, samples: list, **options) -> dict:
    """The summary of a program whose steps take 5 ms and have so many samples."""
    with profile(activities=CPU, monitor=False, **options) as prof:
        for count in samples:
            time.sleep(0.005)
            prof.step() if count is None else prof.step(samples=count)
    prof.export_chrome_trace(path)
    return stepscope.open(path).ask("summary")


def test_samples_per_second_follow_from_the_batch(tmp_path: Path) -> None:
    found = recorded(tmp_path / "t.json", [64, 64, 32])
    assert found["samples_per_step"] == pytest.approx(160 / 3)
    walls = stepscope.open(tmp_path / "t.json").steps().column("wall_ns")
    assert found["samples_per_s"] == pytest.approx(160 / (sum(walls) / 1e9))


def test_with_a_schedule_each_recorded_step_has_its_own(tmp_path: Path) -> None:
    # The first two are not recorded; where PyTorch is there, it marks the others itself.
    traces: list[float] = []

    def ready(prof) -> None:
        prof.export_chrome_trace(tmp_path / "t.json")
        traces.append(stepscope.open(tmp_path / "t.json").ask("summary")["samples_per_step"])

    with profile(
        activities=CPU, monitor=False, schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready
    ) as prof:
        for count in (1000, 1000, 16, 48, 1000):
            time.sleep(0.003)
            prof.step(samples=count)
    assert traces == [32.0]


def test_what_was_not_said_is_unknown(tmp_path: Path) -> None:
    found = recorded(tmp_path / "t.json", [None, None, None])
    assert found["samples_per_s"] is None and found["samples_per_step"] is None


@pytest.mark.parametrize("wrong", ["many", -1, float("nan"), float("inf"), object()])
def test_what_is_no_number_is_refused(wrong: object) -> None:
    with profile(activities=CPU, monitor=False) as prof:
        with pytest.raises(StepscopeError, match="not a number of samples"):
            prof.step(samples=wrong)


def test_batches_set_side_by_side_are_compared_per_sample(tmp_path: Path) -> None:
    paths = []
    # Eight times as many samples in about the same time: a busy machine does not turn that around.
    for batch, seconds in ((8, 0.01), (64, 0.011), (512, 0.012)):
        paths.append(tmp_path / f"batch{batch}.json")
        with profile(activities=CPU, monitor=False) as prof:
            for _ in range(12):
                time.sleep(seconds)
                prof.step(samples=batch)
        prof.export_chrome_trace(paths[-1])
    found = stepscope.diff(*paths)
    runs = found.runs()
    assert found.as_dict()["by"] == "sample"
    assert runs.column("run") == ["batch8", "batch64", "batch512"]
    assert runs.column("samples_per_step") == [8.0, 64.0, 512.0]
    assert runs.column("verdict") == [None, "faster", "faster"]
    rates = runs.column("samples_per_s")
    assert rates == sorted(rates) and "batch512" in found.sentence
    assert len(found.pairs()) == 3 and "Side by side" in str(found)
    two = stepscope.diff(paths[0], paths[2])
    assert any("samples per step: 8 before, 512 after" in note for note in two.as_dict()["unlike"])
    metrics = {row["metric"]: row for row in two.metrics()}
    assert metrics["samples/s"]["before"] == pytest.approx(rates[0])


def test_bare_runs_have_them_too(tmp_path: Path) -> None:
    environment = {**os.environ, "STEPSCOPE_STEP_TIMES": str(tmp_path)}
    subprocess.run([sys.executable, "-c", CONFIGURED], env=environment, cwd=tmp_path, check=True)
    (marks,) = tmp_path.glob("steps-*")
    lines = marks.read_text().splitlines()[1:]
    assert len(lines) == 4 and all(line.split()[1] == "64" for line in lines)
    command = [sys.executable, "-m", "stepscope", "check", "--fail-on", "samples_per_s<100", "--repeats", "4"]
    done = subprocess.run(
        [*command, "--", sys.executable, "-c", CONFIGURED], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "/s" in done.stdout and "pass" in done.stdout
