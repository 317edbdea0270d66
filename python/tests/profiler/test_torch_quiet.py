"""What PyTorch's profiler says about itself, and a user of ours can do nothing with, is not said."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import stepscope  # noqa: E402

PROGRAM = """
    import os, sys, warnings
    warnings.simplefilter("always")
    import torch
    import stepscope as profiler

    counts = []
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        schedule=profiler.schedule(wait=0, warmup=1, active=1),
        on_trace_ready=lambda prof: counts.append(sum(e.count for e in prof.key_averages() if e.key == "aten::add")),
        acc_events={acc_events},
        monitor=False,
    ) as prof:
        for step in range(6):
            torch.ones(3) + 1
            prof.step()
    print(counts, "KINETO_LOG_LEVEL" in os.environ)
    {afterwards}
"""


def run(acc_events: bool, afterwards: str = "", **environment: str) -> tuple[str, list[str]]:
    program = textwrap.dedent(PROGRAM).format(acc_events=acc_events, afterwards=afterwards)
    places = {"PYTHONPATH": str(pathlib.Path(stepscope.__file__).parents[1])}
    kept = {name: value for name, value in os.environ.items() if name != "KINETO_LOG_LEVEL"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**kept, **places, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.splitlines()


def test_cycles_come_without_a_word_and_are_each_their_own():
    # A machine with a GPU keeps the collector's log, in which errors tell why kernels are missing.
    if torch.cuda.is_available():
        pytest.skip("the collector's log is left alone where there is a GPU")
    assert run(acc_events=False) == ("[1, 1, 1] False", [])


@pytest.mark.nightly
def test_the_warning_about_cycles_is_not_ours_to_give():
    _, said = run(acc_events=False)
    assert not any("acc_events" in line for line in said)


def test_events_are_gathered_if_that_is_asked_for():
    assert run(acc_events=True)[0] == "[1, 2, 3] False"


@pytest.mark.nightly
def test_torchs_own_profiler_still_warns_its_own_users():
    if "acc_events" not in torch.profiler.profile.prepare_trace.__code__.co_names:
        pytest.skip("this version does not warn")
    plan = "schedule=torch.profiler.schedule(wait=0, warmup=1, active=1)"
    own = f"with torch.profiler.profile({plan}) as prof: [prof.step() for _ in range(6)]"
    _, said = run(False, own)
    assert any("acc_events" in line for line in said)


def test_a_level_of_logging_that_the_user_chose_stays():
    printed, said = run(acc_events=False, KINETO_LOG_LEVEL="0")
    assert printed == "[1, 1, 1] True"
    assert said
