"""Samples of Python stacks."""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
import time
from pathlib import Path

import pytest

from stepscope import StepscopeError, StepscopeWarning
from stepscope._native import NativeStackSampler, Recording
from stepscope.profiler import profile
from stepscope.profiler import sampler as sampler_module
from stepscope.profiler.sampler import FrameNames, StackSampler, thread_cpu_ns

pytestmark = pytest.mark.usefixtures("without_torch", "way")

KNOWN = sys.platform == "linux" and (3, 9) <= sys.version_info[:2] <= (3, 13)


class Unknown(NativeStackSampler):
    """As if this Python were not known."""

    def start(self):
        raise StepscopeError("this Python is not known")


@pytest.fixture(params=["memory", "inside"])
def way(request, monkeypatch):
    """Both ways of looking see the same."""
    if request.param == "inside":
        monkeypatch.setattr(sampler_module, "NativeStackSampler", Unknown)
        monkeypatch.setattr(StackSampler, "_warned", True)
    elif not KNOWN:
        pytest.skip("this Python is not read from memory")
    return request.param


def spin_until(end):
    while time.perf_counter() < end:
        sum(range(200))


def test_functions_that_run_are_seen_for_as_long_as_they_run(tmp_path, slices):
    entered = time.perf_counter()
    with profile(monitor=False, samples=200) as prof:
        began = time.perf_counter()
        spin_until(began + 0.4)
        took_s = time.perf_counter() - began
    whole_s = time.perf_counter() - entered
    prof.export_chrome_trace(tmp_path / "t.json")
    frames = [s for s in slices(tmp_path / "t.json", "python_function") if s["name"].endswith(": spin_until")]
    assert frames
    seen_s = sum(float(frame["dur"]) for frame in frames) / 1e6
    # A busy machine may keep the sampler from its first and last look, never make it see more than there was.
    assert took_s / 2 < seen_s <= whole_s
    assert "test_sampler.py(" in frames[0]["name"]
    assert not any("stepscope/profiler" in s["name"] for s in slices(tmp_path / "t.json", "python_function"))


def test_other_threads_are_seen_and_the_sampler_is_not(tmp_path, read_trace):
    end = threading.Event()
    worker = threading.Thread(target=end.wait)
    worker.start()
    with profile(monitor=False, with_stack=True) as prof:
        # Long enough for one look on a busy machine.
        time.sleep(0.5)
    end.set()
    worker.join()
    prof.export_chrome_trace(tmp_path / "t.json")
    events = read_trace(tmp_path / "t.json")["traceEvents"]
    frames = [e for e in events if e.get("cat") == "python_function"]
    assert any(str(worker.native_id) in str(e["tid"]) for e in frames)
    assert not any("sampler.py" in e["name"] and "_run" in e["name"] for e in frames)


def test_threads_that_python_has_no_object_for_are_looked_at_too(tmp_path, slices):
    """Extensions start such threads, and so does pytest-xdist."""
    over = threading.Lock()
    over.acquire()
    ended = threading.Event()

    def outside():
        over.acquire()
        ended.set()

    _thread.start_new_thread(outside, ())
    with profile(monitor=False, samples=200) as prof:
        began = time.perf_counter()
        spin_until(began + 0.4)
    over.release()
    assert ended.wait(60)
    prof.export_chrome_trace(tmp_path / "t.json")
    names = [s["name"] for s in slices(tmp_path / "t.json", "python_function")]
    assert any(name.endswith(": spin_until") for name in names)
    assert any(name.endswith(": outside") for name in names)


def hold_the_lock():
    """One call of C code that lets no other thread run until it ends."""
    return sum(range(12_000_000))


@pytest.mark.clock
def test_code_that_holds_the_interpreter_has_its_time(tmp_path, slices):
    took_s = {}
    with profile(monitor=False, samples=100) as prof:
        for _ in range(2):
            began = time.perf_counter()
            spin_until(began + 0.25)
            middle = time.perf_counter()
            hold_the_lock()
            took_s["spin_until"] = took_s.get("spin_until", 0) + middle - began
            took_s["hold_the_lock"] = took_s.get("hold_the_lock", 0) + time.perf_counter() - middle
    prof.export_chrome_trace(tmp_path / "t.json")
    found = slices(tmp_path / "t.json", "python_function")
    seen_s = {name: sum(float(s["dur"]) for s in found if s["name"].endswith(f": {name}")) / 1e6 for name in took_s}
    for name, took in took_s.items():
        share = seen_s[name] / sum(seen_s.values())
        assert abs(share - took / sum(took_s.values())) < 0.08, (name, seen_s, took_s)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the processor time of other threads")
def test_a_thread_that_waits_is_told_from_one_that_works(tmp_path, slices):
    entered, worked = time.perf_counter(), time.thread_time()
    with profile(monitor=False, samples=100) as prof:
        spin_until(time.perf_counter() + 0.3)
        time.sleep(0.3)
    # On a busy machine it also waits for a processor.
    waited_s = time.perf_counter() - entered - (time.thread_time() - worked)
    prof.export_chrome_trace(tmp_path / "t.json")
    found = slices(tmp_path / "t.json", "python_function")
    # Other threads of whoever runs the tests wait too.
    own = [s for s in found if str(threading.get_native_id()) in str(s["tid"])]
    waits_s = sum(float(s["dur"]) for s in own if s["name"] == "(waiting)") / 1e6
    assert 0.15 < waits_s < waited_s + 0.1
    assert thread_cpu_ns(threading.get_native_id()) > 0
    assert thread_cpu_ns(2**22 + 5) is None
    # A number that was made up, for a thread that Python has no object for.
    assert thread_cpu_ns(2**31 - 5) is None


def test_no_samples_without_being_asked(tmp_path, slices):
    before = threading.active_count()
    with profile(monitor=False) as prof:
        assert threading.active_count() == before
        time.sleep(0.05)
    prof.export_chrome_trace(tmp_path / "t.json")
    assert slices(tmp_path / "t.json", "python_function") == []


def test_the_samplers_thread_ends(way):
    def names():
        found = []
        tasks = Path("/proc/self/task")
        for task in tasks.iterdir() if tasks.exists() else ():
            # One that has just ended is not there.
            with contextlib.suppress(OSError):
                found.append((task / "comm").read_text().strip())
        return found

    before = threading.active_count()
    with profile(monitor=False, samples=100):
        assert threading.active_count() == before + (way == "inside")
        # The thread that reads memory is none of Python's, and takes a moment to give itself a name.
        deadline = time.monotonic() + 60
        while way == "memory" and "stepscope-self" not in names() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert ("stepscope-self" in names()) == (way == "memory")
    assert threading.active_count() == before
    assert "stepscope-self" not in names()


def test_lines_of_the_innermost_function_are_known(tmp_path, slices, way):
    with profile(monitor=False, samples=200) as prof:
        spin_until(time.perf_counter() + 0.3)
    prof.export_chrome_trace(tmp_path / "t.json")
    frames = [s for s in slices(tmp_path / "t.json", "python_function") if s["name"].endswith(": spin_until")]
    times = [s["args"]["line times"] for s in frames if "line times" in s.get("args", {})]
    first = spin_until.__code__.co_firstlineno
    lines = {int(pair.split(":")[0]) - first for text in times for pair in text.split(",")}
    # The loop's own line takes so little that chance may never look while it runs.
    assert lines in ([{2}, {1, 2}] if way == "memory" else [set()]), times


def test_a_python_that_is_not_known_is_said_so_once(monkeypatch, way):
    monkeypatch.setattr(sampler_module, "NativeStackSampler", Unknown)
    monkeypatch.setattr(StackSampler, "_warned", False)
    recording = Recording()
    for _ in range(2):
        sampler = StackSampler(recording, 100)
        if sys.platform == "linux" and not StackSampler._warned:
            with pytest.warns(StepscopeWarning, match="while holding the GIL: this Python is not known"):
                sampler.start()
        else:
            sampler.start()
        sampler.stop()


def test_names_of_frames(monkeypatch):
    monkeypatch.setattr("sys.path", ["/srv/app", "/usr/lib/python3"])
    names = FrameNames()
    code = compile("def f():\n    pass\n", "/usr/lib/python3/json/decoder.py", "exec")
    assert names.of_code(code) == "json/decoder.py(1): <module>"
    elsewhere = compile("0", "<string>", "exec")
    assert names.of_code(elsewhere) == "<string>(1): <module>"
