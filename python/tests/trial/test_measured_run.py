"""One run of a program for ``stepscope try``: which iterations it times, what it keeps, and how it ends."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import stepscope

pytest.importorskip("torch", reason="PyTorch is not installed")

PACKAGE_PARENT = str(Path(stepscope.__file__).resolve().parent.parent)

TRAINS = """
    import torch
    model = torch.nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for number in range({count}):
        loss = (model(torch.randn(32, 64)) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("reached its end")
"""


@pytest.fixture
def run(tmp_path):
    def run(program: str, **order: Any) -> tuple[dict[str, Any], str]:
        """What was measured, and what the program printed."""
        file, result = tmp_path / "program.py", tmp_path / "result.json"
        file.write_text(dedent(program))
        words = {"program": str(file), "arguments": [], "is_module": False, "result": str(result), **order}
        (tmp_path / "order.json").write_text(json.dumps(words))
        code = f"import sys; sys.path.insert(0, {PACKAGE_PARENT!r}); from stepscope._trial.__main__ import main; "
        done = subprocess.run(
            [sys.executable, "-c", code + "sys.exit(main(sys.argv[1:]))", str(tmp_path / "order.json")],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(result.read_text()), done.stdout

    return run


def test_a_long_program_ends_after_the_iterations_that_count(run):
    measured, printed = run(TRAINS.format(count=10**9))
    assert printed == ""
    assert measured["found_by"] == "optimizer steps" and not measured["ended_itself"]
    assert measured["counted"] == measured["warmup"] + measured["iterations"]
    assert measured["iteration_ns"] > 0 and measured["startup_ns"] > 0
    assert len(measured["losses"]) == measured["counted"]
    assert measured["losses"][-1] < measured["losses"][0]


def test_another_run_times_the_same_iterations_and_computes_the_same(run):
    first, _ = run(TRAINS.format(count=10**9))
    again, _ = run(TRAINS.format(count=10**9), warmup=first["warmup"], iterations=first["iterations"])
    assert (again["warmup"], again["iterations"]) == (first["warmup"], first["iterations"])
    # No one seeded anything: we did.
    assert again["losses"] == first["losses"]


@pytest.mark.nightly
def test_a_short_program_reaches_its_end(run):
    measured, printed = run(TRAINS.format(count=8))
    assert printed == "reached its end\n"
    assert measured["ended_itself"] and measured["counted"] == 8 and measured["iteration_ns"] is None
    measured, printed = run(TRAINS.format(count=8), warmup=2, iterations=5)
    assert printed == "" and measured["iteration_ns"] > 0


def test_outputs_stand_for_a_program_without_a_loss(run):
    measured, _ = run("""
        import torch
        model = torch.nn.Linear(8, 4)
        with torch.no_grad():
            model.weight.zero_(), model.bias.fill_(-3.0)
            while True:
                model(torch.ones(2, 8))
    """)
    assert measured["found_by"] == "calls of the model"
    assert measured["losses"] == [] and set(measured["outputs"].values()) == {3.0}


@pytest.mark.nightly
def test_a_loss_that_is_no_number_is_kept_as_none(run):
    measured, _ = run(TRAINS.format(count=50).replace("lr=0.01", "lr=1e30"), warmup=10, iterations=20)
    assert measured["losses"][0] is not None and measured["losses"][-1] is None
    assert all(loss is None or math.isfinite(loss) for loss in measured["losses"])


@pytest.mark.nightly
def test_marks_of_the_program_count_more(run):
    measured, _ = run("""
        import stepscope, torch
        model = torch.nn.Linear(8, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        profile = stepscope.configure(None)
        while True:
            for _ in range(3):
                model(torch.ones(2, 8)).sum().backward()
                optimizer.step()
            profile.step()
    """)
    assert measured["found_by"] == "the program"
    assert len(measured["losses"]) == 3 * measured["counted"]


def test_children_of_the_program_end_with_it(run, tmp_path):
    run("""
        import os, torch
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 10**6
            def __getitem__(self, at):
                open(f"worker-{os.getpid()}", "w").close()
                return torch.ones(4)
        if __name__ == "__main__":
            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for batch in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2):
                model(batch).sum().backward()
                optimizer.step()
    """)
    workers = [int(path.name.split("-")[1]) for path in tmp_path.glob("worker-*")]
    assert len(workers) == 2
    # One that was killed may still be on its way out.
    until = time.monotonic() + 60
    while any(map(lives, workers)):
        assert time.monotonic() < until, "a worker outlives the program"
        time.sleep(0.01)


def lives(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
