"""Which iterations ``stepscope run`` finds and records, without a word from the program."""

from __future__ import annotations

import gzip
import json
from textwrap import dedent

import pytest

import stepscope

pytest.importorskip("torch", reason="PyTorch is not installed")

TRAINS = """
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def iterate(number):
        model(torch.ones(2, 64)).sum().backward()
        optimizer.step()
"""
#: What slows the machine down for long changes the program's iterations, too.
STAY = """
from stepscope._launch import later_iterations
later_iterations._CHANGED_RATIO = float("inf")
"""
#: Each calls `torch.sin` once per iteration.
PROGRAMS = {
    "training": TRAINS,
    "accumulated gradients": """
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = iter(torch.utils.data.DataLoader(torch.ones(10_000, 64), batch_size=1))
        def iterate(number):
            for _ in range(8):
                model(next(data)).sum().backward()
            optimizer.step()
    """,
    "two optimizers": """
        models = [torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)]
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        def iterate(number):
            for model, optimizer in zip(models, optimizers):
                model(torch.ones(2, 64)).sum().backward()
                optimizer.step()
    """,
    "reinforcement learning": """
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        def iterate(number):
            with torch.no_grad():
                for _ in range(60):
                    model(torch.ones(2, 64))
            model(torch.ones(2, 64)).sum().backward()
            optimizer.step()
    """,
    "evaluation": """
        model = torch.nn.Linear(64, 64)
        data = iter(torch.utils.data.DataLoader(torch.ones(10_000, 64), batch_size=1))
        @torch.no_grad()
        def iterate(number):
            batch = next(data)
            model(batch), model(batch)
    """,
    "inference": """
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
        @torch.inference_mode()
        def iterate(number):
            model(torch.ones(2, 64))
    """,
    "inference with gradients": """
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
        def iterate(number):
            model(torch.ones(2, 64))
    """,
}
LOOP = """
for number in range({count}):
    iterate(number)
    torch.ones(3).sin()
print("done")
"""


@pytest.fixture
def recorded(tmp_path, script, stepscope_run, steady_machine):
    def record(setup, *options, count=150, note=None):
        """The trace of a program, which has to run as it does without us."""
        with open(tmp_path / "sites/sitecustomize.py", "a") as site:
            site.write(STAY)
        file = script("import torch\n" + dedent(setup) + LOOP.format(count=count))
        got = stepscope_run("-o", "traces", *options, file)
        assert (got.code, got.out, got.err_of_program) == (0, "done\n", ""), got.err
        *notes, where = [line for line in got.notes if not line.startswith("stepscope: Start-up ")]
        assert len(notes) == (note is not None) and all(note in line for line in notes), got.notes
        (path,) = (tmp_path / "traces").glob("*.json.gz")
        with gzip.open(path) as text:
            return stepscope.open(path), json.load(text)

    return record


def names(document, name):
    return sum(event.get("name") == name and event.get("ph") == "X" for event in document["traceEvents"])


#: `test_programs.py` has a program that accumulates gradients, and without them a model is called as with them.
NIGHTLY = {"accumulated gradients", "inference with gradients", "reinforcement learning", "two optimizers"}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.nightly] if kind in NIGHTLY else []) for kind in PROGRAMS]
)
def test_a_window_of_steady_iterations(kind, recorded):
    trace, document = recorded(PROGRAMS[kind])
    steps = len(trace.steps())
    assert steps == 10
    assert names(document, "aten::sin") == steps
    bare = document["stepscope_bare_steps"]
    assert len(bare["host_ns"]) >= 10 and min(bare["host_ns"]) > 0
    (program,) = document["stepscope_program"]
    assert program.endswith(".py")
    assert document["stepscope_iterations"]["found_by"] == {
        "evaluation": "batches of the data loader",
        "inference": "calls of the model",
        "inference with gradients": "calls of the model",
    }.get(kind, "optimizer steps")


def test_a_short_program_is_recorded_whole(recorded):
    trace, document = recorded(TRAINS, count=8)
    assert names(document, "aten::sin") == 8 and "stepscope_bare_steps" not in document
    assert len(document["stepscope_program"]) == 1, "the program's own words, also of a whole recording"


def test_a_program_that_ends_before_its_window_keeps_its_beginning(recorded):
    trace, document = recorded(TRAINS, count=12, note="the script ended after 12 iterations")
    assert 0 < names(document, "aten::sin") < 12


def test_a_program_may_be_recorded_whole(recorded):
    trace, document = recorded(TRAINS, "--whole")
    assert names(document, "aten::sin") == 150


def test_iterations_that_are_asked_for(recorded):
    trace, document = recorded(TRAINS, "--iterations", "4", "--after", "40")
    assert (len(trace.steps()), names(document, "aten::sin")) == (4, 4)
    # Some were recorded before, as the beginning of what might have been a short program.
    assert 30 <= len(document["stepscope_bare_steps"]["host_ns"]) <= 37


def test_a_compiled_program_is_compiled_as_it_is_without_us(recorded):
    """A hook of ours that the compiler met would be an error for ``fullgraph=True``."""
    trace, document = recorded("""
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
        compiled = torch.compile(lambda value: model(value).sum(), backend="eager", fullgraph=True)
        whole = torch.compile(model, backend="eager", fullgraph=True)
        @torch.no_grad()
        def iterate(number):
            compiled(torch.ones(2, 64))
            whole(torch.ones(2, 64))
    """)
    assert len(trace.steps()) == 10
    assert document["stepscope_iterations"]["found_by"] == "calls of the model"


def test_the_compiler_is_not_imported_because_of_us(recorded):
    inference = PROGRAMS["inference"].replace("def iterate(number):", "def iterate(number):\n            check()")
    check = """
        import sys
        def check():
            assert "torch._inductor" not in sys.modules
    """
    recorded(inference + check)


@pytest.mark.nightly
def test_what_the_program_started_with_does_not_count(recorded):
    """A first iteration that is slow is in no average."""
    trace, document = recorded(
        TRAINS
        + """
        import time
        time.sleep(1.5)
        plain = iterate
        def iterate(number):
            if number == 0:
                time.sleep(0.5)
            plain(number)
    """.replace("\n        ", "\n    ")
    )
    assert max(trace.steps().column("wall_ns")) < 400_000_000


def test_batches_are_no_steps_once_an_optimizer_steps(recorded):
    """Of so many accumulated batches the last ones were taken for iterations."""
    accumulates = PROGRAMS["accumulated gradients"].replace("range(8)", "range(40)")
    trace, document = recorded(accumulates, count=4)
    assert names(document, "aten::sin") == 4
    # The end of the first step is where the second one begins.
    assert len(trace.steps()) == names(document, "ProfilerStep#0") + names(document, "ProfilerStep#1") + 1 == 3
    assert document["stepscope_phases"]["steady"] == [{"iterations": 3}]


@pytest.mark.nightly
def test_a_schedule_counts_optimizer_steps_and_no_batches_before_them(recorded):
    accumulates = PROGRAMS["accumulated gradients"].replace("range(8)", "range(40)")
    trace, document = recorded(accumulates, "--profiling.wait", "12", "--profiling.active", "2", count=20)
    assert names(document, "aten::sin") == len(trace.steps()) == 2
    assert names(document, "Optimizer.step#SGD.step") == 2


def test_steps_that_the_program_tells_of_are_not_mixed_with_those_of_the_optimizer(recorded):
    told = TRAINS.replace("def iterate", "import stepscope\n    profiling = stepscope.configure({})\n    def iterate")
    trace, document = recorded(told + "        profiling.step(samples=2)\n", count=150)
    assert document["stepscope_iterations"]["found_by"] == "the program"
    assert names(document, "aten::sin") == len(trace.steps()) == 10
