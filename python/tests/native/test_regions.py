"""Regions and what becomes of them in a file."""

from __future__ import annotations

import asyncio
import inspect
import json
import pathlib
import re
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import stepscope
from stepscope import _native, record_function


@pytest.fixture
def recording():
    recording = _native.Recording()
    recording.start()
    yield recording
    recording.stop()


def events(recording, tmp_path) -> list:
    recording.stop()
    recording.write(tmp_path / "trace.json", {})
    return json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def slices(recording, tmp_path) -> list:
    return [e for e in events(recording, tmp_path) if e["ph"] == "X"]


def test_nested_regions_nest(recording, tmp_path):
    with record_function("outer"):
        with record_function("inner"):
            time.sleep(0.01)
    found = {e["name"]: e for e in slices(recording, tmp_path)}
    inner, outer = found["inner"], found["outer"]
    assert inner["dur"] >= 10_000
    assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
    assert inner["tid"] == outer["tid"] == threading.get_native_id()
    assert inner["cat"] == "user_annotation"


class Theirs:
    """A region of someone else's, who is told of it."""

    told: list = []

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.told.append(("enter", self.name))

    def __exit__(self, *_):
        self.told.append(("exit", self.name))


@pytest.mark.parametrize("beside", [False, True])
def test_regions_of_somebody_else_are_ours_too_if_they_want(recording, tmp_path, beside):
    Theirs.told = []
    _native.set_torch_regions(lambda name: Theirs(name) if name != "ours" else None, beside)
    try:
        with record_function("outer"), record_function("inner"), record_function("ours"):
            pass
    finally:
        _native.set_torch_regions(None)
    with record_function("after"):
        pass
    expected = [("enter", "outer"), ("enter", "inner"), ("exit", "inner"), ("exit", "outer")]
    assert Theirs.told == expected
    ours = ["outer", "inner", "ours", "after"] if beside else ["ours", "after"]
    assert sorted(event["name"] for event in slices(recording, tmp_path)) == sorted(ours)
    assert _native.take_overlapping() == 0


def test_nothing_is_kept_while_nothing_records(tmp_path):
    with record_function("before"):
        pass
    recording = _native.Recording()
    recording.start()
    with record_function("during"):
        pass
    recording.stop()
    with record_function("after"):
        pass
    recording.write(tmp_path / "t.json", {})
    names = {e["name"] for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if e["ph"] == "X"}
    assert names == {"during"}


def test_an_exception_passes_through_and_the_region_ends(recording, tmp_path):
    with pytest.raises(ZeroDivisionError):
        with record_function("fails"):
            1 / 0
    assert [e["name"] for e in slices(recording, tmp_path)] == ["fails"]


def test_two_recordings_at_once_see_the_same(tmp_path):
    first, second = _native.Recording(), _native.Recording()
    first.start()
    with record_function("a"):
        pass
    second.start()
    with record_function("b"):
        pass
    first.stop()
    with record_function("c"):
        pass
    second.stop()
    assert (first.regions, second.regions) == (2, 2)
    assert not _native.is_recording()


def test_decorated_functions_coroutines_and_generators(recording, tmp_path):
    @record_function("plain")
    def plain(a, b=2):
        """What it does."""
        return a + b

    @record_function("coroutine")
    async def coroutine():
        await asyncio.sleep(0.001)
        return "done"

    @record_function("generator")
    def generator():
        got = yield 1
        try:
            yield got
        except KeyError:
            yield "caught"
        return "end"

    assert plain(1) == 3 and plain.__doc__ == "What it does." and plain.__name__ == "plain"
    assert asyncio.run(coroutine()) == "done"
    running = generator()
    assert next(running) == 1
    assert running.send("sent") == "sent"
    assert running.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration) as end:
        next(running)
    assert end.value.value == "end"
    names = [e["name"] for e in slices(recording, tmp_path)]
    assert names.count("plain") == 1 and names.count("coroutine") == 1 and names.count("generator") == 4


def test_a_decorated_async_generator_is_a_region_while_it_runs(recording, tmp_path):
    @record_function("stream")
    async def stream():
        with record_function("inside"):
            got = yield 1
        try:
            yield got
        except KeyError:
            yield "caught"

    async def use():
        running = stream()
        seen = [await running.__anext__(), await running.asend("sent"), await running.athrow(KeyError())]
        with record_function("between"):
            pass
        seen += [value async for value in running]
        return seen

    assert inspect.isasyncgenfunction(stream)
    assert asyncio.run(use()) == [1, "sent", "caught"]
    found = slices(recording, tmp_path)
    streams = [event for event in found if event["name"] == "stream"]
    (between,) = [event for event in found if event["name"] == "between"]
    assert len(streams) == 4
    start, end = float(between["ts"]), float(between["ts"]) + float(between["dur"])
    assert not [each for each in streams if float(each["ts"]) < end and float(each["ts"]) + float(each["dur"]) > start]


def test_the_end_of_a_decorated_generator_is_its_own(recording):
    @record_function("closed")
    def closed():
        try:
            yield 1
        finally:
            ended.append(True)

    ended = []
    running = closed()
    next(running)
    running.close()
    assert ended == [True]

    @record_function("stops")
    def stops():
        raise StopIteration("a plain function may")

    with pytest.raises(StopIteration, match="a plain function may"):
        stops()


def test_args_are_text_as_pytorch_has_it():
    assert record_function("x", "y").args == "y" and record_function("x", args=None).args is None
    with pytest.raises(TypeError, match="args is a string or None"):
        record_function("x", record_function("y"))


def test_what_hands_out_the_methods_is_made_once():
    descriptor = type(record_function.__dict__["__enter__"])
    with pytest.raises(TypeError, match="cannot create instances"):
        descriptor()
    with pytest.raises(TypeError):
        object.__new__(descriptor)


def test_tasks_that_take_turns_do_not_cut_each_other(recording, tmp_path):
    async def task(name, first, second):
        with record_function(name):
            await asyncio.sleep(first)
            await asyncio.sleep(second)

    async def main():
        await asyncio.gather(task("a", 0.01, 0.03), task("b", 0.02, 0.005))

    asyncio.run(main())
    found = slices(recording, tmp_path)
    assert sorted(e["name"] for e in found) == ["a", "b"]
    lanes = {}
    for one in found:
        lanes.setdefault(one["tid"], []).append(one)
    for of_lane in lanes.values():
        of_lane.sort(key=lambda e: e["ts"])
        for before, after in zip(of_lane, of_lane[1:]):
            nested = after["ts"] + after["dur"] <= before["ts"] + before["dur"]
            assert nested or after["ts"] >= before["ts"] + before["dur"]


def test_threads_have_lanes_of_their_own(recording, tmp_path):
    def work():
        with record_function("work"):
            pass

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(slices(recording, tmp_path)) == 3


def test_what_is_told_and_counted_is_there(recording, tmp_path):
    now = _native.now_ns()
    recording.step(3, now, now + 5_000_000)
    recording.slice("batch", now, now + 1000, "cpu_op", {"size": [4, 5], "name": "x"})
    recording.counter("loss", now, 0.25)
    recording.sample(threading.get_native_id(), "MainThread", now, ["a.py(1): main", "a.py(2): inner"])
    found = events(recording, tmp_path)
    by_name = {e["name"]: e for e in found}
    assert by_name["ProfilerStep#3"]["dur"] == 5000
    assert by_name["batch"]["args"] == {"size": [4, 5], "name": "x"}
    assert by_name["loss"]["ph"] == "C" and by_name["loss"]["args"]["value"] == 0.25
    assert by_name["a.py(2): inner"]["cat"] == "python_function"
    trace = stepscope.open(tmp_path / "trace.json")
    assert trace.steps().column("step") == [3]


def test_names_of_any_kind(recording, tmp_path):
    for name in ["", "</script>", "\u202eback", "🙂" * 2000, 'a"b\\c\n']:
        with record_function(name):
            pass
    assert len(slices(recording, tmp_path)) == 5


def test_lone_surrogates_do_not_break_it(recording, tmp_path):
    with record_function("\ud800"):
        pass
    assert len(slices(recording, tmp_path)) == 1


def test_writing_fails_as_python_does(recording, tmp_path):
    recording.stop()
    with pytest.raises(FileNotFoundError, match="No such file"):
        recording.write(tmp_path / "no" / "such" / "folder.json", {})
    with pytest.raises(IsADirectoryError):
        recording.write(tmp_path, {})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_files_is_said(recording):
    recording.stop()
    with pytest.raises(PermissionError) as caught:
        recording.write("/sys/trace.json", {})
    assert caught.value.filename == "/sys/trace.json"


def test_a_killed_process_leaves_what_was_written(tmp_path):
    code = """
        import os, pathlib, sys, time
        from stepscope import _native, record_function
        journal = pathlib.Path(sys.argv[1])

        def written():
            text = journal.read_text() if journal.exists() else ""
            return text.count('"name": "part ') >= 8 and text.count('"name": "process CPU') >= 10

        recording = _native.Recording(_native.Monitor(0.05, gpu=False), journal=sys.argv[1])
        recording.start()
        # The journal is written every second or so; what is in it by then is what has to be left.
        for i in range(600):
            if written():
                break
            began = _native.now_ns()
            with record_function(f"part {i}"):
                time.sleep(0.1)
            recording.step(i, began, _native.now_ns())
            recording.sample(1, "MainThread", _native.now_ns(), ["train.py(1): <module>", "train.py(9): step"])
            recording.counter("loss", _native.now_ns(), 1.5 / (i + 1))
        os.kill(os.getpid(), 9)
    """
    journal = tmp_path / "journal.pt.trace.json"
    words = [sys.executable, "-c", textwrap.dedent(code), str(journal)]
    root = pathlib.Path(stepscope.__file__).parents[1]
    done = subprocess.run(words, check=False, cwd=root)
    assert done.returncode == -9
    trace = stepscope.open(journal)
    regions = trace.ops(kind="annotations")
    assert len(regions) >= 8
    assert "part 0" in regions.column("name")
    assert len(trace.steps()) >= 8
    written = journal.read_text()
    assert "train.py(9): step" in written and '"loss"' in written
    # Each sample of the machine once.
    busy = re.findall(r'"name": "process CPU[^\n]*"ts": ([0-9.]+)', written)
    assert len(busy) >= 10 and len(set(busy)) == len(busy)


def test_a_journal_goes_when_all_is_well(tmp_path):
    recording = _native.Recording(journal=tmp_path / "j.json")
    recording.start()
    assert (tmp_path / "j.json").exists()
    recording.stop()
    assert not (tmp_path / "j.json").exists()
