"""Programs as people write them, under ``stepscope run`` without options: which iterations are found, what is said of
the rest of the run, and that times agree with the program's own clock. What recording costs is measured by
``scripts/check_recordings.py``."""

from __future__ import annotations

import gzip
import json
import pathlib
import subprocess
import sys

import pytest

import stepscope
from stepscope._launch.launchers import recording_ranks

PROGRAMS = pathlib.Path(__file__).parent / "programs"
pytestmark = pytest.mark.frameworks


class Recorded:
    """The one trace of a run, beside what the program said of itself."""

    def __init__(self, path: pathlib.Path, said: dict) -> None:
        self.said = said
        self.trace = stepscope.open(path)
        with gzip.open(path) as text:
            self.document = json.load(text)
        self.phases = self.document.get("stepscope_phases")

    @property
    def found_by(self) -> str | None:
        return self.document.get("stepscope_iterations", {}).get("found_by")

    def check_times(self) -> None:
        """The iterations that were timed took as long by the program's own clock, which notes the ends a bit later."""
        timed_ms = [ns / 1e6 for ns in self.document["stepscope_bare_steps"]["host_ns"]]
        last = self.document["stepscope_iterations"]["before"]
        ends = self.said["ends_ms"][last - len(timed_ms) - 1 : last]
        longest = max(after - before for before, after in zip(ends, ends[1:]))
        assert abs(sum(timed_ms) - (ends[-1] - ends[0])) <= 1.5 * longest, (timed_ms, ends)

    def check_phases(self) -> None:
        """Each iteration that had ended when this was written is in exactly one phase."""
        phases = self.phases
        steady = sum(each["iterations"] for each in phases["steady"])
        assert phases["start_up_ns"] > 0 and phases["warm_up_iterations"] > 0
        assert 1 + phases["warm_up_iterations"] + steady + phases["pauses"] <= self.said["iterations"]


@pytest.fixture
def recorded(tmp_path, stepscope_run, steady_machine):
    def record(program: str, *arguments: str) -> Recorded:
        got = stepscope_run("-o", "traces", str(PROGRAMS / program), *arguments)
        assert got.code == 0 and got.err_of_program == "", got.err
        # Iterations of a machine that others use may change for long: then a second window follows.
        path, *_ = sorted((tmp_path / "traces").glob("*.json.gz"), key=lambda path: len(path.name))
        assert path.name.startswith(program.removesuffix(".py") + "-")
        assert path.stat().st_size < 30 << 20
        return Recorded(path, json.loads(got.out))

    return record


def test_training_with_accumulated_gradients_and_validation(recorded):
    run = recorded("train.py", "2")
    assert run.said["iterations"] == 64
    assert run.found_by == "optimizer steps" and len(run.trace.steps()) >= 2
    run.check_times()
    run.check_phases()
    parts = run.phases["start_up"]
    assert parts["imports_ns"] > 0 and parts["longest_imports"][0]["package"] == "torch"
    # Two batches and one step of the optimizer in each.
    calls = {row["name"]: row["calls"] for row in run.trace.ops(top=0)}
    steps = len(run.trace.steps())
    assert calls["aten::cross_entropy_loss"] == 2 * steps, calls
    assert "data_loading" in run.trace.findings().column("rule")


def test_generation_token_by_token(recorded):
    run = recorded("generate.py", "8")
    assert run.said["iterations"] == 192
    assert run.found_by == "calls of the model" and len(run.trace.steps()) >= 2
    run.check_times()
    run.check_phases()


def test_a_program_without_a_framework(recorded):
    run = recorded("plain.py", "60")
    assert run.found_by is None and run.phases is None
    assert run.trace.ask("info")["info"]["framework"] is None
    functions = {row["name"]: row["self_ns"] for row in run.trace.functions(top=0)}
    # Making and counting words is most of what it does.
    assert sum(functions.get(name, 0) for name in ("count", "text", "<genexpr>")) > 0.8 * sum(functions.values())


RUN = [sys.executable, "-m", "stepscope", "run", "-o", "traces"]
RANKS = ["--standalone", "--nproc-per-node", "2"]
LAUNCHES = {
    "inside": [sys.executable, "-m", "torch.distributed.run", *RANKS, "--no-python", *RUN],
    "outside": [*RUN, "torchrun", *RANKS],
}


@pytest.mark.parametrize("way", [pytest.param("inside", marks=pytest.mark.nightly), "outside"])
def test_every_rank_records_the_same_iterations(way, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    command = [*LAUNCHES[way], str(PROGRAMS / "ranks.py"), "40"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=240)
    assert done.returncode == 0, done.stderr
    traces = sorted((tmp_path / "traces").glob("*.json.gz"))
    assert len(traces) == 2
    said = {line["rank"]: line for line in map(json.loads, done.stdout.splitlines())}
    ranks = [Recorded(path, said[rank]) for rank, path in enumerate(traces)]
    assert [rank.document["distributedInfo"]["rank"] for rank in ranks] == [0, 1]
    windows = []
    for rank in ranks:
        rank.check_times()
        rank.check_phases()
        windows.append((rank.document["stepscope_iterations"]["before"], len(rank.trace.steps())))
    assert windows[0] == windows[1] and windows[0][1] >= 2, windows
    # The launcher is ours: it ends with the first screen about the job.
    if way == "outside":
        job = done.stderr[done.stderr.index("stepscope: 2 ranks in traces") :]
        assert "stepscope view traces" in job and "WHY" in job, job
        assert "rank 1 is late: the other communicates for" in job, job
        assert "rank 1 is late: the other communicates for" in job, job


def test_launchers_are_told_what_to_start():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    ours = [sys.executable, "-m", "stepscope", "run", "-o", "x"]

    def launched(words):
        return recording_ranks(words.split(), ["-o", "x"])

    ranks = "--nproc-per-node 2"
    expected = ["--nproc-per-node", "2", "--no-python", *ours]
    for launcher in ("torchrun", "-m torch.distributed.run"):
        assert launched(f"{launcher} {ranks} t.py --lr 1") == (
            "torch.distributed.run",
            [*expected, "t.py", "--lr", "1"],
        )
    assert launched(f"torchrun {ranks} -m a.b -m") == ("torch.distributed.run", [*expected, "-m", "a.b", "-m"])
    # What is no Python, or what we start already, and what is no launcher.
    assert launched(f"torchrun {ranks} --no-python ./a.sh") is None
    assert launched("-m json.tool") is launched("train.py torchrun") is None
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    module, arguments = launched("accelerate launch --cpu --num_processes 2 t.py")
    assert module == "accelerate.commands.launch"
    assert arguments == ["--cpu", "--num_processes", "2", "--no_python", *ours, "t.py"]
