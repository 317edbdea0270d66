"""``stepscope check`` on PyTorch programs that tell no steps: their iterations are found."""

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

PROGRAM = """
    import sys, torch
    assert __name__ == "__main__" and sys.argv[1:] == ["--lr", "1"], sys.argv
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    {setup}
    for number in range(12):
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()
        {tell}
"""


@pytest.fixture
def saved(tmp_path):
    def save(program: str, *words: str) -> tuple[dict, str]:
        """The numbers of a program, and what was said about its steps."""
        (tmp_path / "train.py").write_text(dedent(program))
        place = ["--repeats", "1", "--store", str(tmp_path / "kept")]
        env = {**os.environ, "PYTHONPATH": PACKAGE_PARENT}
        said = subprocess.run(
            [sys.executable, "-m", "stepscope", "baseline", "save", "main", *place, "--", sys.executable, *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=env,
        )
        assert said.returncode == 0, said.stderr
        (file,) = (path for path in (tmp_path / "kept").rglob("*") if path.is_file())
        return json.loads(file.read_text()), said.stderr

    return save


@pytest.mark.parametrize("words", [["train.py"], pytest.param(["-u", "-m", "train"], marks=pytest.mark.nightly)])
def test_iterations_are_found(saved, words):
    numbers, said = saved(PROGRAM.format(setup="", tell=""), *words, "--lr", "1")
    assert "optimizer steps, found in the program" in said
    (repeat,) = numbers["repeats"]
    # Of twelve, the first has no beginning, and one more is left out.
    assert len(repeat["values"]["step_time"]) == 10


@pytest.mark.nightly
def test_steps_that_the_program_tells_count_more(saved):
    program = PROGRAM.format(
        setup="import stepscope; told = stepscope.configure(None)",
        tell="number % 3 or told.step(samples=4)",
    )
    numbers, said = saved(program, "train.py", "--lr", "1")
    assert "step() of the stepscope package" in said
    (repeat,) = numbers["repeats"]
    assert len(repeat["values"]["step_time"]) == 2
