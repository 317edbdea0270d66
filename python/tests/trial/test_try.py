"""``stepscope try`` from the first word to the last: real runs of a real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import stepscope

pytest.importorskip("torch", reason="PyTorch is not installed")

PACKAGE_PARENT = str(Path(stepscope.__file__).resolve().parent.parent)

#: Collects garbage in every step, which is most of it.
PROGRAM = """
    import gc, torch
    gc.freeze()  # PyTorch's own objects: the program's are quicker to go through.
    kept = [[number] for number in range(100_000)]
    model = torch.nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    while True:
        loss = (model(torch.randn(32, 64)) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        gc.collect()
"""
OWN = """
    import stepscope, torch

    class Nothing(stepscope.Fix):
        name, title, numbers, group, code = "nothing", "nothing at all", "same", None, "pass"

        def install(self):
            pass

        def effect(self):
            return stepscope.Effect(True, "nothing was asked of it")

    class NoSteps(Nothing):
        name, title, code = "no-steps", "optimizers that do not step", "del optimizer"

        def install(self):
            import gc
            torch.optim.SGD.step = torch.optim.Optimizer.profile_hook_step(lambda self: None)
            self.collect, gc.collect = gc.collect, lambda *_: 0

    class Fails(Nothing):
        name, title = "fails", "a change that breaks the program"

        def install(self):
            torch.nn.Linear = None
"""


@pytest.fixture
def try_fixes(tmp_path):
    (tmp_path / "train.py").write_text(dedent(PROGRAM))
    (tmp_path / "own.py").write_text(dedent(OWN))

    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "stepscope", "try", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": PACKAGE_PARENT},
        )
        assert done.returncode == code, done.stderr
        return done

    return run


def test_fixes_are_measured_and_planned(try_fixes, tmp_path):
    # So many that what a busy machine takes away for a moment is little of them.
    counts = ("--warmup", "3", "--iterations", "30", "--rounds", "2")
    only = ("--only", "keep-cache,no-steps,fails", "--with", "own.py")
    done = try_fixes(*only, *counts, "--format", "json", "train.py")
    record = json.loads(done.stdout)
    fixes = {fix["name"]: fix for fix in record["fixes"]}
    # Ten times as fast on an idle machine.
    assert fixes["keep-cache"]["took"] and fixes["keep-cache"]["verdict"] == "faster"
    assert fixes["keep-cache"]["numbers"] == {"kind": "same"}
    # As fast, but it no longer learns.
    assert fixes["no-steps"]["numbers"]["kind"] == "differs"
    assert not fixes["fails"]["took"] and "TypeError" in fixes["fails"]["evidence"]
    assert record["plan"][0]["fixes"] == ["keep-cache"]
    assert not any("no-steps" in step["fixes"] for step in record["plan"])
    assert record["iteration"] == "optimizer steps"

    written = try_fixes("--apply", "-o", "profiler_traces", "train.py").stdout
    assert "gc.collect" in written and "per iteration, measured" in written
    history = json.loads(try_fixes("--history", "--format", "json").stdout)
    assert {row["fix"] for row in history} == {"keep-cache", "no-steps"}


@pytest.mark.clock  # What runs beside it may end in the middle.
@pytest.mark.nightly
def test_nothing_saves_nothing(try_fixes):
    words = ("--only", "nothing", "--with", "own.py", "--warmup", "3", "--iterations", "10", "--format", "json")
    (fix,) = json.loads(try_fixes(*words, "train.py").stdout)["fixes"]
    assert fix["took"] and (fix["verdict"] != "faster" or fix["saves"] < 0.1)


def test_mistakes_are_told(try_fixes):
    assert "did you mean tf32?" in try_fixes("--only", "tf-32", "train.py", code=2).stderr
    assert "no program given" in try_fixes(code=2).stderr
    assert "measure first: stepscope try train.py" in try_fixes("--apply", "train.py", code=2).stderr
    missing = try_fixes("--only", "tf32", "no_such.py", code=2)
    assert "no_such.py" in missing.stderr and "Traceback" not in missing.stderr


def test_fixes_are_listed(try_fixes):
    listed = try_fixes("--list", "--with", "own.py").stdout
    assert "fused-optimizer" in listed and "no-steps" in listed
