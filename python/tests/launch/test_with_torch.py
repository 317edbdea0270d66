"""``stepscope run`` and PyTorch, which scripts import long after the recording has begun."""

from __future__ import annotations

import gzip
import json
import re

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")


def events(path):
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
    with opened as file:
        return json.load(file)["traceEvents"]


def count(path, name):
    return sum(1 for event in events(path) if event.get("name") == name and event.get("ph") == "X")


@pytest.fixture
def traces(tmp_path):
    return lambda folder="profiler_traces": sorted((tmp_path / folder).glob("*.pt.trace.json*"))


def errors(done):
    """What the script itself wrote to stderr. PyTorch may kill workers that a busy machine is slow to end, and Python
    warns of their semaphores."""
    return re.sub(r".*UserWarning: resource_tracker: .*\n.*\n", "", done.own_err)


TRAIN = """\
import time
import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(STEPS):
    with torch.profiler.record_function(f"batch {step}"):
        loss = model(torch.ones(2, 8)).sum()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(round(float(loss.detach()), 3))
"""


@pytest.mark.usefixtures("steady_machine")
def test_operators_of_a_late_import_and_steps_by_the_optimizer(script, stepscope_run, traces):
    got = stepscope_run(script(TRAIN.replace("STEPS", "5") + "print(model.weight.grad is None)\n"))
    assert (got.out.splitlines()[1:], got.code) == (["True"], 0)
    # Python's own tracker of semaphores warns now and then, with us and without.
    assert got.own_err == "" or "resource_tracker" in got.own_err
    (trace,) = traces()
    assert count(trace, "aten::linear") == 5
    assert count(trace, "batch 4") == 1
    # The end of the first optimizer step begins step 0; the last one ends step 3.
    assert [count(trace, f"ProfilerStep#{n}") for n in range(5)] == [1, 1, 1, 1, 0]
    linear = next(event for event in events(trace) if event.get("name") == "aten::linear")
    assert "Input Dims" in linear["args"]


@pytest.mark.usefixtures("steady_machine")
def test_operators_and_stacks_share_one_clock(script, stepscope_run, traces):
    text = TRAIN.replace("STEPS", "3") + (
        "import stepscope\n"
        "with stepscope.record_function('spin'):\n"
        "    end = time.perf_counter() + 0.3\n"
        "    while time.perf_counter() < end:\n"
        "        torch.ones(3).add_(1)\n"
    )
    stepscope_run(script(text))
    (trace,) = traces()
    spans = {}
    for event in events(trace):
        if event.get("ph") == "X":
            spans.setdefault(event["name"], []).append((float(event["ts"]), float(event["ts"]) + float(event["dur"])))
    ((start, end),) = spans["spin"]
    inside = [1 for s, e in spans["aten::add_"] if s >= start - 1 and e <= end + 1]
    assert len(inside) > 100


def test_a_schedule_by_the_steps_of_the_optimizer(script, stepscope_run, traces):
    got = stepscope_run(
        "--profiling.wait=1", "--profiling.warmup=1", "--profiling.active=2", script(TRAIN.replace("STEPS", "9"))
    )
    (trace,) = traces()
    # The first step ends before the schedule begins, the second waits, the third warms up.
    assert [count(trace, f"batch {n}") for n in range(9)] == [0, 0, 0, 1, 1, 0, 0, 0, 0]
    assert count(trace, "aten::linear") == 2
    assert len([note for note in got.notes if "Start-up" not in note]) == 1


@pytest.mark.nightly
def test_a_schedule_that_is_longer_than_the_script(script, stepscope_run, traces):
    got = stepscope_run("--profiling.wait=50", script(TRAIN.replace("STEPS", "4")))
    assert not traces()
    assert any("ended after 4 steps" in note for note in got.notes)


def test_inference_without_an_optimizer_is_recorded_whole(script, stepscope_run, traces):
    got = stepscope_run(
        "--profiling.active=2",
        script("import torch\nm = torch.nn.Linear(4, 4)\nfor _ in range(3):\n    m(torch.ones(1, 4))\n"),
    )
    (trace,) = traces()
    assert count(trace, "aten::linear") == 3
    assert "no steps were found" in got.notes[0]


def test_a_script_that_uses_pytorchs_profiler_is_left_alone(script, stepscope_run, traces):
    text = (
        "import torch\n"
        "torch.nn.Linear(1, 1)(torch.ones(1))\n"  # with a GPU, operators are recorded from here on
        "torch.ones(3).exp()\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:\n"
        "    torch.ones(3).sin()\n"
        "print([e.key for e in prof.key_averages() if 'sin' in e.key])\n"
        "torch.ones(3).cos()\n"
    )
    got = stepscope_run(script(text))
    assert (got.out, got.code, errors(got)) == ("['aten::sin']\n", 0, "")
    (trace,) = traces()
    assert count(trace, "aten::exp") == 1 and count(trace, "aten::sin") == 0 and count(trace, "aten::cos") == 0
    assert any("PyTorch's profiler itself" in note for note in got.notes)


def test_the_scripts_own_stepscope_profile_has_pytorch(script, stepscope_run, traces):
    got = stepscope_run(
        script(
            "import torch, stepscope\n"
            "with stepscope.profile() as prof:\n"
            "    torch.ones(3).sin()\n"
            "print([e.key for e in prof.key_averages() if e.key == 'aten::sin'])\n"
        )
    )
    assert got.out == "['aten::sin']\n"
    assert got.own_err == ""
    assert not traces()


@pytest.mark.nightly
@pytest.mark.usefixtures("steady_machine")
def test_a_failing_training_keeps_its_operators(script, stepscope_run, traces):
    got = stepscope_run(script(TRAIN.replace("STEPS", "3") + "model(torch.ones(2, 9))\n"))
    assert got.code == 1
    assert "RuntimeError" in got.own_err and "launch" not in got.own_err
    assert count(traces()[0], "aten::linear") == 4


def test_the_default_limit_counts_from_pytorchs_start_and_ends_its_collector(script, python, traces):
    script(
        "import sys\n"
        "from stepscope import _run as run\n"
        "from stepscope._launch import recording_limits\n"
        "recording_limits.TORCH_SECONDS = 1.0\n"
        "sys.exit(run.main(sys.argv[1:]))\n",
        "short_limit.py",
    )
    file = script(
        "import time, torch\n"
        "torch.nn.Linear(1, 1)(torch.ones(1))\n"
        "is_recorded = torch._C._autograd._profiler_enabled\n"
        "start, made = time.perf_counter(), 0\n"
        "while is_recorded() and time.perf_counter() - start < 50:\n"
        "    torch.ones(3).exp()\n"
        "    made += 1\n"
        "    time.sleep(0.02)\n"
        "torch.ones(3).sin()\n"
        "print(made)\n"
    )
    got = python("short_limit.py", "--whole", file)
    assert got.code == 0 and got.own_err == ""
    (trace,) = traces()
    made = int(got.out)
    # The recording may end right before the last one.
    assert 1 < made and count(trace, "aten::exp") in (made - 1, made) and count(trace, "aten::sin") == 0
    assert any("1 s were over" in note for note in got.notes)


def test_a_limit_that_is_over_during_the_import(script, stepscope_run, traces):
    got = stepscope_run("--seconds=0.3", script("import torch\ntorch.ones(3).sin()\nprint('ran')\n"))
    assert (got.code, got.out, got.own_err) == (0, "ran\n", "")
    assert count(traces()[0], "aten::sin") == 0


GROWS = """\
import torch
{before}
for step in range(4000):
    torch.ones(4).add_(1)
    if step == 0:
        torch.ones(4).exp()
torch.ones(4).sin()
print("ran")
"""


GOES_ON = """\
    if step > 4000:
        time.sleep(0.001)
    if not torch._C._autograd._profiler_enabled():
        break
torch.ones(4).sin()
"""


@pytest.mark.nightly
def test_what_operators_take_is_bounded_and_said(script, stepscope_run, traces):
    # 12,000 events and their memory: 4 MB to record, 48 MB to write. From then on there is time to see that.
    program = GROWS.format(before="import time").replace("range(4000)", "range(50_000)")
    program = program.replace("torch.ones(4).sin()\n", GOES_ON)
    got = stepscope_run("--whole", "--max-memory", "0.004", script(program))
    assert (got.code, got.out, got.own_err) == (0, "ran\n", "")
    (note,) = [note for note in got.notes if "--max-memory" in note]
    assert re.fullmatch(
        r"stepscope: recording ended early: [\d.]+ s of PyTorch's operators may take [\d.]+ GiB of memory to be "
        r"written \(--max-memory\)",
        note,
    )
    (trace,) = traces()
    assert count(trace, "aten::exp") == 1 and count(trace, "aten::sin") == 0
    assert 10 < count(trace, "aten::add_") < 50_000


def test_the_scripts_own_tensors_are_not_taken_for_operators(script, stepscope_run, traces):
    own = "kept = [torch.ones(250_000) for _ in range(300)]"  # 300 MB: twelve times that is more than the limit
    got = stepscope_run("--max-memory", "1", script(GROWS.format(before=own)))
    assert (got.code, got.out, got.own_err) == (0, "ran\n", "")
    assert not [note for note in got.notes if "--max-memory" in note]
    assert count(traces()[0], "aten::sin") == 1


def test_a_cell_keeps_its_operators_until_they_take_too_much(tmp_path, monkeypatch):
    import time

    import torch

    import stepscope
    from stepscope._launch import block_capture
    from stepscope.config.settings import Settings

    monkeypatch.setattr(block_capture, "default_limit", lambda: 8 << 20)
    block = block_capture.BlockCapture("this cell", Settings(monitor=False, record_shapes=True, profile_memory=True))
    block.start()
    torch.ones(4).exp()
    give_up = time.monotonic() + 60
    while not block.notes and time.monotonic() < give_up:
        torch.ones(4).add_(1)
    torch.ones(4).sin()
    with stepscope.record_function("after"):
        pass
    assert block.stop(tmp_path / "cell.json")
    (note,) = block.notes
    assert note.startswith("operators of this cell are in the trace until they might have taken ")
    assert [count(tmp_path / "cell.json", name) for name in ("aten::exp", "aten::sin", "after")] == [1, 0, 1]


def test_events_are_not_worked_out_twice():
    import torch

    from stepscope._launch.program_capture import ProgramCapture
    from stepscope.config.settings import Settings

    capture = ProgramCapture(Settings(monitor=False), None)
    capture.start()
    capture.start_torch(torch)
    torch.ones(3).exp()
    results = capture._inner.profiler
    capture.stop()
    # PyTorch makes its Python objects when someone asks for them, which a trace file does not.
    assert results._function_events is None


def test_data_loader_workers_and_spawned_processes_run_as_before(script, stepscope_run, traces):
    text = (
        "import torch\n"
        "from torch.utils.data import DataLoader\n"
        "if __name__ == '__main__':\n"
        "    data = [torch.full((2,), float(n)) for n in range(6)]\n"
        "    for way in ('fork', 'spawn'):\n"
        "        loader = DataLoader(data, batch_size=2, num_workers=2, multiprocessing_context=way)\n"
        "        print([batch.sum().item() for batch in loader])\n"
    )
    got = stepscope_run(script(text))
    assert (got.out, got.code, errors(got)) == (2 * "[2.0, 10.0, 18.0]\n", 0, "")
    assert len(traces()) == 1


ON_A_GPU_MACHINE = """\
import sys
from stepscope import _run as run
from stepscope._launch import torch_start
torch_start.gpu_may_be_used = lambda torch: True
sys.exit(run.main(sys.argv[1:]))
"""


def test_with_a_gpu_the_collector_waits_for_the_first_use(script, python, traces):
    script(ON_A_GPU_MACHINE, "gpu_machine.py")
    got = python(
        "gpu_machine.py",
        script(
            "import torch\n"
            "torch.ones(3).sin()\n"
            "enabled = torch._C._autograd._profiler_enabled\n"
            "print(enabled())\n"
            "layer = torch.nn.Linear(3, 3)\n"
            "layer(torch.ones(3))\n"
            "print(enabled())\n"
            "torch.ones(3).cos()\n"
        ),
    )
    assert got.out == "False\nTrue\n" and got.own_err == ""
    (trace,) = traces()
    assert [count(trace, f"aten::{name}") for name in ("sin", "linear", "cos")] == [0, 1, 1]


def test_with_a_gpu_that_is_never_used_the_script_is_left_alone(script, python, traces):
    script(ON_A_GPU_MACHINE, "gpu_machine.py")
    got = python("gpu_machine.py", script("import torch\ntorch.ones(3).sin()\nprint('ran')\n"))
    assert got.out == "ran\n" and got.own_err == ""
    assert count(traces()[0], "aten::sin") == 0
    assert any("never used a module, an optimizer or the GPU" in note for note in got.notes)


@pytest.mark.skipif(not __import__("torch").cuda.is_available(), reason="needs a GPU")
class TestGpu:
    """On a real GPU."""

    def test_kernels_from_the_first_use_on(self, script, stepscope_run, traces):
        got = stepscope_run(
            script("import os, torch\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\nprint(torch.cuda.is_available())\n")
        )
        assert got.out == "False\n"  # set after the import, and still obeyed
        got = stepscope_run(
            "-o",
            "gpu",
            script(
                "import torch\n"
                "x = torch.ones(512, 512, device='cuda')\n"
                "for _ in range(5):\n"
                "    y = x @ x\n"
                "torch.cuda.synchronize()\n"
                "print(float(y.sum()))\n"
            ),
        )
        assert got.code == 0 and got.own_err == ""
        (trace,) = traces("gpu")
        assert count(trace, "aten::mm") == 5
        assert sum(1 for event in events(trace) if event.get("cat") == "kernel") >= 5

    def test_processes_forked_later_can_use_the_gpu(self, script, stepscope_run):
        got = stepscope_run(
            script(
                "import multiprocessing, torch\n"
                "def work(queue):\n"
                "    queue.put(float(torch.ones(4, device='cuda').sum()))\n"
                "if __name__ == '__main__':\n"
                "    torch.ones(3).sin()\n"
                "    context = multiprocessing.get_context('fork')\n"
                "    queue = context.Queue()\n"
                "    child = context.Process(target=work, args=(queue,))\n"
                "    child.start()\n"
                "    print(queue.get(timeout=60))\n"
                "    child.join()\n"
            )
        )
        assert got.out == "4.0\n", got.err
