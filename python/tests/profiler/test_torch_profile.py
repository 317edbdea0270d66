"""The profiler in a program that uses PyTorch."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import textwrap
import time
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import stepscope as profiler  # noqa: E402
from stepscope import StepscopeError, StepscopeWarning, _native  # noqa: E402
from stepscope.profiler import torch_engine  # noqa: E402

CPU = profiler.ProfilerActivity.CPU


@pytest.fixture(autouse=True)
def no_news_about_cuda():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*CUDA is not available.*")
        warnings.filterwarnings("ignore", message=".*Profiler clears events at the end of each cycle.*")
        yield


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))


def train(model, steps=3, prof=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        with profiler.record_function("forward"):
            loss = model(torch.ones(8, 16)).square().mean()
        with profiler.record_function("backward"):
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
        if prof is not None:
            prof.step()
    return losses


def names(found):
    return [event["name"] for event in found]


def test_results_are_the_same_to_the_bit(model):
    import copy

    twin = copy.deepcopy(model)
    plain = train(twin)
    with profiler.profile(record_shapes=True, with_stack=True, profile_memory=True) as prof:
        profiled = train(model, prof=prof)
    assert profiled == plain
    for ours, theirs in zip(model.parameters(), twin.parameters()):
        assert torch.equal(ours, theirs)


def test_one_trace_holds_operators_regions_steps_and_counters(tmp_path, read_trace, slices, model):
    began_s = time.perf_counter()
    with profiler.profile(activities=[CPU], monitor=0.02) as prof:
        began_ns, give_up = _native.now_ns(), time.monotonic() + 60
        train(model, prof=prof)
        while not prof._recorder._monitor.series("host.cpu_percent", began_ns)[0] and time.monotonic() < give_up:
            time.sleep(0.01)
    took_us = (time.perf_counter() - began_s) * 1e6
    path = tmp_path / "t.json"
    prof.export_chrome_trace(path)
    regions = slices(path)
    assert names(regions).count("forward") == 3
    assert [n for n in names(regions) if n.startswith("ProfilerStep#")] == [f"ProfilerStep#{n}" for n in range(3)]
    operators = slices(path, "cpu_op")
    assert "aten::linear" in names(operators)
    # On one clock: operators of the forward pass lie within the region around them.
    forward = next(r for r in regions if r["name"] == "forward")
    linear = next(o for o in operators if o["name"] == "aten::linear")
    assert float(forward["ts"]) <= float(linear["ts"])
    assert float(linear["ts"]) + float(linear["dur"]) <= float(forward["ts"]) + float(forward["dur"])
    step = next(r for r in regions if r["name"] == "ProfilerStep#0")
    assert float(step["ts"]) <= float(forward["ts"]) <= float(step["ts"]) + float(step["dur"])
    assert step["tid"] == forward["tid"] and step["pid"] == forward["pid"]
    counters = [e for e in read_trace(path)["traceEvents"] if e.get("ph") == "C" and e.get("cat") == "monitor"]
    # All of it took so long.
    assert counters and all(abs(float(c["ts"]) - float(regions[0]["ts"])) < took_us + 1e5 for c in counters)


def test_steps_come_once_with_a_schedule(tmp_path, slices, model):
    handler = profiler.tensorboard_trace_handler(str(tmp_path), "w")
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with profiler.profile(schedule=plan, on_trace_ready=handler, monitor=False) as prof:
        train(model, 9, prof)
    found = [[n for n in names(slices(path)) if n.startswith("ProfilerStep#")] for path in sorted(tmp_path.iterdir())]
    assert found == [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]]


PLANS = [
    {"wait": 1, "warmup": 1, "active": 3, "repeat": 2},
    {"wait": 0, "warmup": 1, "active": 1},
    {"wait": 2, "warmup": 1, "active": 2, "skip_first": 1},
    {"wait": 0, "warmup": 0, "active": 2, "repeat": 2},
]


@pytest.mark.parametrize(("options", "steps", "engine"), list(itertools.product(PLANS, (4, 7), ("torch", "own"))))
def test_handlers_see_what_torchs_profiler_shows_them(monkeypatch, options, steps, engine):
    def observe(make_profile, make_schedule):
        seen, actions = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan = make_schedule(**options)
            with make_profile(
                schedule=plan, on_trace_ready=lambda p: seen.append((p.step_num, p.current_action.name))
            ) as prof:
                for _ in range(steps):
                    actions.append(prof.current_action.name)
                    prof.step()
        return seen, actions, prof.step_num

    theirs = observe(torch.profiler.profile, torch.profiler.schedule)
    if engine == "own":
        monkeypatch.setattr(torch_engine, "torch_if_imported", lambda: None)
    make = lambda **given: profiler.profile(monitor=False, **given)
    assert observe(make, profiler.schedule) == theirs
    assert observe(make, torch.profiler.schedule) == theirs


@pytest.mark.parametrize("engine", ["torch", "own"])
def test_steps_in_the_files_are_torchs(tmp_path, monkeypatch, slices, engine):
    def steps_of(make_profile, directory):
        directory.mkdir()
        with make_profile(
            schedule=torch.profiler.schedule(wait=1, warmup=1, active=2),
            on_trace_ready=lambda p: p.export_chrome_trace(str(directory / f"{p.step_num}.json")),
        ) as prof:
            for _ in range(7):
                torch.ones(2) + 1
                prof.step()
        return {
            path.name: sorted(n for n in names(slices(path)) if n.startswith("ProfilerStep#"))
            for path in directory.iterdir()
        }

    theirs = steps_of(torch.profiler.profile, tmp_path / "theirs")
    if engine == "own":
        monkeypatch.setattr(torch_engine, "torch_if_imported", lambda: None)
    ours = steps_of(lambda **given: profiler.profile(monitor=False, **given), tmp_path / "ours")
    assert ours == theirs and len(ours) == 2


def test_torchs_handler_with_our_profiler(tmp_path, slices, model):
    with profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path)), monitor=False) as p:
        train(model, prof=p)
    (path,) = tmp_path.iterdir()
    assert "ProfilerStep#0" in names(slices(path))


def test_our_schedule_and_handler_with_torchs_profiler(tmp_path, slices, model):
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    with torch.profiler.profile(
        schedule=plan, on_trace_ready=profiler.tensorboard_trace_handler(tmp_path, use_gzip=True)
    ) as prof:
        train(model, 6, prof)
    (path,) = tmp_path.iterdir()
    assert path.name.endswith(".pt.trace.json.gz")
    assert [n for n in names(slices(path)) if n.startswith("ProfilerStep")] == ["ProfilerStep#2", "ProfilerStep#3"]


@pytest.mark.parametrize("mine", [True, False])
def test_activities_of_both_kinds(mine, model):
    kind = profiler.ProfilerActivity if mine else torch.profiler.ProfilerActivity
    with profiler.profile(activities=[kind.CPU, kind.CUDA], monitor=False) as prof:
        train(model)
    assert "aten::linear" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=100)


def test_regions_are_annotations_as_torchs_own_are(tmp_path, slices):
    with profiler.profile(monitor=False) as prof:
        with profiler.record_function("ours"), torch.profiler.record_function("theirs"):
            torch.ones(2) + 1
    prof.export_chrome_trace(tmp_path / "t.json")
    assert set(names(slices(tmp_path / "t.json"))) == {"ours", "theirs"}
    ours, theirs = (next(e for e in prof.key_averages() if e.key == key) for key in ("ours", "theirs"))
    assert ours.count == theirs.count == 1 and ours.cpu_time_total >= theirs.cpu_time_total


def test_nested_async_and_decorated_regions():
    @profiler.record_function("decorated")
    def add(a, b):
        return a + b

    async def work(delay):
        with profiler.record_function(f"task {delay}"):
            await asyncio.sleep(delay / 1000)
            return add(delay, 1)

    async def main():
        return await asyncio.gather(work(20), work(10))

    with profiler.profile(monitor=False) as prof:
        assert asyncio.run(main()) == [21, 11]
    by_name = {event.key: event for event in prof.key_averages()}
    assert by_name["decorated"].count == 2
    assert by_name["task 20"].cpu_time_total >= 20_000 and by_name["task 10"].cpu_time_total >= 10_000


def test_regions_are_ours_again_afterwards():
    with profiler.profile(monitor=False):
        pass
    assert not torch._C._autograd._profiler_enabled()
    with profiler.record_function("free"):
        pass


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
def test_exceptions_pass_unchanged_and_the_trace_is_saved(tmp_path, error):
    with pytest.raises(type(error)) as caught:
        with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(tmp_path)):
            torch.ones(2) + 1
            raise error
    assert caught.value is error
    assert len(list(tmp_path.iterdir())) == 1


def test_a_failing_handler_is_a_warning(model):
    def handler(prof):
        raise RuntimeError("no network")

    with pytest.warns(StepscopeWarning, match="no network"):
        with profiler.profile(schedule=profiler.schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
            assert len(train(model, 5, prof)) == 5


def test_a_trace_can_be_written_more_than_once(tmp_path, slices, model):
    """PyTorch refuses to save a trace again; after a handler there would be no second file."""
    handler = profiler.tensorboard_trace_handler(tmp_path / "runs", use_gzip=True)
    with profiler.profile(on_trace_ready=handler, monitor=False) as prof:
        train(model)
    for name in ("trace.json", "trace.json.gz"):
        prof.export_chrome_trace(tmp_path / name)
        assert "forward" in names(slices(tmp_path / name))
    (tmp_path / "trace.json").write_text("changed")
    prof.export_chrome_trace(tmp_path / "trace.json")
    for path in (tmp_path / "runs").iterdir():
        path.unlink()
    with pytest.raises(StepscopeError, match="only once") as caught:
        prof.export_chrome_trace(tmp_path / "late.json")
    assert "record again" in caught.value.hint
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["runs", "trace.json", "trace.json.gz"]


def test_a_directory_that_is_not_there(tmp_path, model):
    with profiler.profile(monitor=False) as prof:
        train(model)
    with pytest.raises(StepscopeError, match="cannot write the trace"):
        prof.export_chrome_trace(tmp_path / "absent" / "t.json")
    prof.export_chrome_trace(tmp_path / "t.json")
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_a_full_disk_is_an_error_when_asked_and_a_warning_from_the_handler(tmp_path):
    program = """
        import os, resource, sys, torch
        import stepscope as profiler
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        for handler in (profiler.tensorboard_trace_handler(sys.argv[1]), None):
            with profiler.profile(activities=[profiler.ProfilerActivity.CPU], on_trace_ready=handler) as prof:
                for _ in range(100):
                    torch.ones(2) + 1
        print("trained")
        try:
            prof.export_chrome_trace(os.path.join(sys.argv[1], "t.json"))
        except profiler.StepscopeError as error:
            print(error.hint)
        print(os.listdir(sys.argv[1]))
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    trained, hint, left = result.stdout.splitlines()
    assert trained == "trained" and hint.startswith("if the disk is full") and left == "[]"
    assert "StepscopeWarning: no trace was written" in result.stderr


def test_the_directory_may_change_between_two_exports(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    with profiler.profile(monitor=False) as prof:
        train(model)
    prof.export_chrome_trace("t.json")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    prof.export_chrome_trace("t.json.gz")
    assert (tmp_path / "elsewhere" / "t.json.gz").stat().st_size > 0


def test_arguments_of_this_version_of_torch_are_taken(model):
    newer = "post_processing_timeout_s"
    import inspect

    if newer not in inspect.signature(torch.profiler.profile.__init__).parameters:
        pytest.skip("an older PyTorch")
    with profiler.profile(monitor=False, **{newer: 5.0}) as prof:
        train(model)
    assert prof.post_processing_timeout_s == 5.0
    with pytest.raises(TypeError, match="with_stac"):
        profiler.profile(with_stac=True)


def test_a_second_profiler_warns_and_records_without_torch(model):
    with profiler.profile(monitor=False) as first:
        with pytest.warns(StepscopeWarning, match="the stepscope profiler started at"):
            second = profiler.profile(monitor=False)
            second.start()
        train(model, 2, second)
        second.stop()
        train(model, 1, first)
    assert "aten::linear" in {event.key for event in first.key_averages()}
    assert {event.key for event in second.key_averages()} == {"ProfilerStep*"}
    with profiler.profile(monitor=False) as third:
        train(model)
    assert "aten::linear" in {event.key for event in third.key_averages()}


def test_torchs_profiler_around_ours_goes_on(model):
    with torch.profiler.profile() as theirs:
        with pytest.warns(StepscopeWarning, match="PyTorch's own profiler is running"):
            with profiler.profile(monitor=False) as ours:
                train(model, 2, ours)
    assert "aten::linear" in {event.key for event in theirs.key_averages()}
    assert {event.key for event in ours.key_averages()} >= {"ProfilerStep*", "forward", "backward"}


def test_a_torch_profiler_that_fails_is_a_warning(monkeypatch, model, tmp_path):
    def fail(self):
        raise RuntimeError("CUPTI is gone")

    whole = torch.profiler.profile.start_trace
    monkeypatch.setattr(torch.profiler.profile, "start_trace", fail)
    with pytest.warns(StepscopeWarning, match="CUPTI is gone"):
        with profiler.profile(monitor=False, on_trace_ready=profiler.tensorboard_trace_handler(tmp_path)) as prof:
            assert len(train(model, 3, prof)) == 3
    assert {event.key for event in prof.key_averages()} == {"ProfilerStep*", "forward", "backward"}
    assert len(list(tmp_path.iterdir())) == 1
    # PyTorch's profiler is not left half started.
    monkeypatch.setattr(torch.profiler.profile, "start_trace", whole)
    with profiler.profile(monitor=False) as again:
        train(model)
    assert "aten::linear" in {event.key for event in again.key_averages()}


def test_stacks(tmp_path, model):
    with profiler.profile(with_stack=True, monitor=False) as prof:
        train(model)
    prof.export_stacks(tmp_path / "stacks.txt", "self_cpu_time_total")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert any("test_torch_profile.py" in line and "aten::" in line for line in lines)
    assert all(int(line.rsplit(" ", 1)[1]) > 0 and line.count(" ") == 1 for line in lines)
    prof.export_stacks(tmp_path / "device.txt", "self_cuda_time_total")
    assert prof.key_averages(group_by_stack_n=5).table(sort_by="self_cpu_time_total")


def test_memory_timeline(tmp_path, model):
    with profiler.profile(record_shapes=True, profile_memory=True, with_stack=True, monitor=False) as prof:
        train(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prof.export_memory_timeline(str(tmp_path / "memory.json"), device="cpu")
    assert (tmp_path / "memory.json").stat().st_size > 10


def test_metadata(tmp_path, read_trace):
    prof = profiler.profile(monitor=False)
    prof.preset_metadata_json("preset", '{"a": 1}')
    with prof:
        torch.ones(2) + 1
        prof.add_metadata("text", "words")
        prof.add_metadata_json("list", "[1, 2]")
    prof.export_chrome_trace(tmp_path / "t.json")
    document = read_trace(tmp_path / "t.json")
    assert (document["preset"], document["text"], document["list"]) == ({"a": 1}, "words", [1, 2])
    assert document["stepscope_recorder"] == "profile"


def test_attributes_of_torchs_profiler_are_reachable():
    with profiler.profile(monitor=False, record_shapes=True) as prof:
        torch.ones(2) + 1
        prof.toggle_collection_dynamic(False, [CPU])
        torch.ones(2) * 2
        prof.toggle_collection_dynamic(True, [CPU])
    assert prof.profiler.record_shapes is True
    keys = {event.key for event in prof.key_averages()}
    assert "aten::add" in keys and "aten::mul" not in keys


def test_the_trace_answers_questions(model):
    with profiler.profile(monitor=False) as prof:
        train(model, 6, prof)
    assert isinstance(prof.trace(), profiler.Trace)
    assert prof.summary() and prof.findings() is not None


def test_samples_beside_torch(tmp_path, slices, model):
    with profiler.profile(samples=200, monitor=False) as prof:
        end = time.perf_counter() + 0.2
        while time.perf_counter() < end:
            train(model, 1)
    prof.export_chrome_trace(tmp_path / "t.json")
    assert any(n.endswith(": train") for n in names(slices(tmp_path / "t.json", "python_function")))


def test_workers_of_a_data_loader(tmp_path):
    program = """
        import sys, torch
        import stepscope as profiler

        class Squares(torch.utils.data.Dataset):
            def __len__(self):
                return 16
            def __getitem__(self, index):
                with profiler.record_function("square"):
                    return torch.tensor(index * index)

        if __name__ == "__main__":
            loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2, multiprocessing_context="fork")
            total = 0
            with profiler.profile(
                activities=[profiler.ProfilerActivity.CPU],
                with_stack=True,
                on_trace_ready=torch.profiler.tensorboard_trace_handler(sys.argv[1]),
            ) as prof:
                for batch in loader:
                    with profiler.record_function("sum"):
                        total += int(batch.sum())
                    prof.step()
            print(total, prof.step_num)
    """
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(program))
    result = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "runs")], capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stdout) == (0, "1240 4\n"), result.stderr
    (path,) = (tmp_path / "runs").iterdir()
    assert path.stat().st_size > 1000


def test_a_forked_child_writes_nothing(tmp_path):
    program = """
        import os, sys, torch
        import stepscope as profiler
        with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(sys.argv[1])) as prof:
            torch.ones(2) + 1
            pid = os.fork()
            if pid == 0:
                with profiler.record_function("child"):
                    prof.step()
                sys.exit(7)
            _, status = os.waitpid(pid, 0)
            print(os.WEXITSTATUS(status))
    """
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (result.returncode, result.stdout) == (0, "7\n"), result.stderr
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_device_that_is_not_there_leaves_the_operators_of_the_cpu():
    with pytest.warns(StepscopeWarning, match="no CUDA device here"):
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA], monitor=False) as prof:
            torch.ones(8) + 1
            prof.step()
    assert "aten::add" in [row.key for row in prof.key_averages()]
