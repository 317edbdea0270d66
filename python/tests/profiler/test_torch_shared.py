"""There is one profiler of PyTorch's at a time: who gets it, what the other keeps, and what is said."""

from __future__ import annotations

import code
import gc
import sys
import threading
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import stepscope as profiler  # noqa: E402
from stepscope import StepscopeWarning, record_function  # noqa: E402
from stepscope.profiler import torch_guard  # noqa: E402

CPU = profiler.ProfilerActivity.CPU
TORCH_CPU = torch.profiler.ProfilerActivity.CPU


def keys(prof):
    return {row.key for row in prof.key_averages()}


def test_pytorchs_own_profiler_inside_takes_over_and_nothing_recorded_is_lost(tmp_path, slices):
    with profiler.profile(activities=[CPU], monitor=False) as outer:
        with record_function("before"):
            torch.ones(3).exp()
        with pytest.warns(StepscopeWarning, match="this one has operators up to here"):
            inner = torch.profiler.profile(activities=[TORCH_CPU])
            inner.start()
        torch.ones(3).sin()
        inner.stop()
        with record_function("after"):
            torch.ones(3).cos()
        outer.step()
    assert {"before", "aten::exp", "after"} <= keys(outer) and not {"aten::sin", "aten::cos"} & keys(outer)
    assert "aten::sin" in keys(inner) and "aten::exp" not in keys(inner)
    outer.export_chrome_trace(tmp_path / "t.json")
    assert [event["name"] for event in slices(tmp_path / "t.json")] == ["ProfilerStep#0", "before", "after"]
    assert [event["name"] for event in slices(tmp_path / "t.json", "cpu_op")].count("aten::exp") == 1
    # Nothing of ours stays behind.
    assert not torch_guard._watching and not torch_guard._originals
    with profiler.profile(activities=[CPU], monitor=False) as again:
        torch.ones(3).exp()
    assert "aten::exp" in keys(again)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_it_starts_in_any_step_of_a_schedule(at, tmp_path):
    plan = profiler.schedule(wait=0, warmup=1, active=2, repeat=1)
    written = []
    with profiler.profile(
        activities=[CPU], schedule=plan, monitor=False, on_trace_ready=lambda p: written.append(p.events())
    ) as outer:
        for step in range(4):
            torch.ones(3).exp()
            if step == at:
                with pytest.warns(StepscopeWarning, match="there can be one at a time"):
                    with torch.profiler.profile(activities=[TORCH_CPU]) as inner:
                        torch.ones(3).sin()
            outer.step()
    assert "aten::sin" in keys(inner)
    (events,) = written
    names = [event.name for event in events]
    # The warm-up is not kept; a step that PyTorch saw the beginning of is marked by it, and once.
    assert names.count("aten::exp") == at
    assert not torch._C._autograd._profiler_enabled()
    outer.export_chrome_trace(tmp_path / "t.json")
    assert profiler.open(tmp_path / "t.json").steps().column("step") == [1, 2]


def test_one_started_in_another_thread_is_told():
    def work():
        with torch.profiler.profile(activities=[TORCH_CPU]):
            torch.ones(3).sin()

    with pytest.warns(StepscopeWarning, match="in another thread"):
        with profiler.profile(activities=[CPU], monitor=False):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()


def test_one_that_nobody_has_any_more_ends():
    def drop():
        prof = profiler.profile(activities=[CPU], monitor=False)
        prof.start()

    with pytest.warns(StepscopeWarning, match=r"started at .*test_torch_shared.py:\d+ was dropped while it ran"):
        drop()
    assert not torch._C._autograd._profiler_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepscopeWarning)
        with profiler.profile(activities=[CPU], monitor=False) as prof:
            torch.ones(3).exp()
    assert "aten::exp" in keys(prof)


def test_one_in_a_circle_ends_when_the_next_one_starts():
    def drop():
        prof = profiler.profile(activities=[CPU], monitor=False)
        prof.own = prof
        prof.start()

    gc.disable()
    try:
        drop()
        with pytest.warns(StepscopeWarning, match="was dropped while it ran"):
            with profiler.profile(activities=[CPU], monitor=False) as prof:
                torch.ones(3).exp()
    finally:
        gc.enable()
    assert "aten::exp" in keys(prof)


@pytest.fixture
def cell():
    """Runs a cell as a notebook does: an error ends the cell and is shown, and its frames live on."""
    last = ("last_exc", "last_value", "last_type", "last_traceback")
    before = {name: getattr(sys, name) for name in last if hasattr(sys, name)}
    shell = code.InteractiveInterpreter({"profiler": profiler, "torch": torch})
    yield lambda text: (shell.runsource(text, "<cell>", "exec"), shell.locals)[1]
    shell.locals.clear()
    for name in last:
        if name in before:
            setattr(sys, name, before[name])
        elif hasattr(sys, name):
            delattr(sys, name)


def test_one_left_running_by_an_error_ends_when_the_next_one_starts(cell):
    cell("p = profiler.profile(monitor=False)\np.start()\ntorch.ones(3).exp()\n1 / 0\n")
    with pytest.warns(StepscopeWarning, match="started at <cell>:2 was left running by an error"):
        found = cell("q = profiler.profile(monitor=False)\nq.start()\ntorch.ones(3).sin()\nq.stop()\n")
    assert "aten::sin" in keys(found["q"]) and "aten::exp" in keys(found["p"])


def test_one_that_runs_on_is_left_alone_and_named(cell):
    cell("p = profiler.profile(monitor=False)\np.start()\n")
    with pytest.warns(StepscopeWarning, match="the stepscope profiler started at <cell>:2 uses PyTorch's until"):
        cell("q = profiler.profile(monitor=False)\nq.start()\ntorch.ones(3).sin()\nq.stop()\n")
    found = cell("torch.ones(3).exp()\np.stop()\n")
    assert {"aten::sin", "aten::exp"} <= keys(found["p"])
