"""Child processes under plain ``stepscope run``: sampled from outside, named, in one trace, and none the wiser."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import stepscope

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="children are sampled on Linux")

#: Each way has children that compute in `grind` for as long as they say.
PROGRAM = dedent("""\
    import concurrent.futures, json, multiprocessing, os, subprocess, sys, threading, time

    def grind(seconds):
        until = time.process_time() + seconds
        n = 0
        while time.process_time() < until:
            n += 1
        return os.getpid()

    def threaded(seconds):
        thread = threading.Thread(target=grind, args=(seconds,), name="grinder")
        thread.start()
        thread.join()

    def pool_of(way, workers):
        return multiprocessing.get_context(way).Pool(workers)

    if __name__ == "__main__":
        way = sys.argv[1]
        if way in ("fork", "spawn", "forkserver"):
            with pool_of(way, 2) as pool:
                pool.map(grind, [0.4, 0.4], chunksize=1)
        elif way == "futures":
            with concurrent.futures.ProcessPoolExecutor(2) as pool:
                list(pool.map(grind, [0.4, 0.4]))
        elif way == "subprocess":
            subprocess.run([sys.executable, __file__, "child"], check=True)
        elif way == "child":
            grind(0.5)
        elif way == "grandchild":
            subprocess.run([sys.executable, __file__, "subprocess"], check=True)
        elif way == "threads":
            process = multiprocessing.get_context("fork").Process(target=threaded, args=(0.5,), name="loader")
            process.start()
            process.join()
        elif way == "exit":
            child = os.fork()
            if not child:
                grind(0.5)
                os._exit(3)
            print(os.waitpid(child, 0)[1] >> 8)
        elif way == "long":
            process = multiprocessing.get_context("fork").Process(target=grind, args=(60,))
            process.start()
            print(process.pid, flush=True)
            process.join()
        elif way == "killed":
            process = multiprocessing.get_context("fork").Process(target=grind, args=(60,))
            process.start()
            time.sleep(0.6)
            process.kill()
            process.join()
            print(process.exitcode)
        print(json.dumps([sorted(os.environ), sys.argv, sorted(multiprocessing.active_children())]))
    """)

WAYS = {
    "fork": "ForkPoolWorker-",
    "spawn": "SpawnPoolWorker-",
    "forkserver": "ForkServerPoolWorker-",
    "futures": "Process-",
    "subprocess": "script.py",
    "grandchild": "script.py",
    "threads": "loader",
    "exit": "forked process",
    "killed": "ForkProcess-",
}


def the_trace(folder: Path) -> stepscope.Trace:
    (path,) = folder.rglob("*.pt.trace.json*")
    return stepscope.open(path)


def the_row(trace: stepscope.Trace, name: str) -> dict[str, Any]:
    (row,) = [row for row in trace.functions() if row["name"] == name]
    return row


def processes(trace: stepscope.Trace) -> dict[str, list[str]]:
    """The threads of each process, by its name."""
    found: dict[str, list[str]] = {}
    for lane in trace.ask("info")["info"]["lanes"]:
        found.setdefault(lane["process_name"], []).append(lane["thread_name"])
    return found


@pytest.mark.clock
@pytest.mark.parametrize("way", WAYS)
def test_children_are_sampled(way, tmp_path, script, python, stepscope_run):
    file = script(PROGRAM)
    expected, got = python(file, way), stepscope_run("-q", "-o", "traces", file, way)
    assert (got.out, got.code, got.err) == (expected.out, expected.code, expected.err)
    trace = the_trace(tmp_path / "traces")
    row = the_row(trace, "grind")
    # All that computes is `grind`, for 0.4 s or more of processor time.
    assert row["self_ns"] > 0.3e9 and row["self_share"] > 0.5
    assert row["file"].endswith("script.py") and row["line"] == 3
    named = [name for name in processes(trace) if WAYS[way] in name and "(pid " in name]
    assert named, processes(trace)
    if way in ("fork", "spawn", "forkserver"):
        assert len(named) == 2
    if way == "threads":
        assert any("grinder" in thread for thread in processes(trace)[named[0]])
    assert not any("tracker" in name for name in processes(trace))


# A spawned child starts as any other program of Python's does.
@pytest.mark.parametrize("way", ["fork", pytest.param("spawn", marks=pytest.mark.nightly), "subprocess", "exit"])
def test_children_that_may_not_be_read_sample_themselves(way, tmp_path, script, python):
    file = script(PROGRAM)
    script(
        dedent("""\
        import sys
        import stepscope._launch.script_recorder as script_recorder
        script_recorder.why_not_read = lambda: "kernel.yama.ptrace_scope is 3"
        from stepscope._run import main
        if __name__ == "__main__":
            sys.exit(main(["-o", "traces", *sys.argv[1:]]))
        """),
        "runner.py",
    )
    expected, got = python(file, way), python("runner.py", file, way)
    assert (got.out, got.code, got.own_err) == (expected.out, expected.code, expected.err)
    (note,) = [note for note in got.notes if "sampled themselves" in note]
    assert "(kernel.yama.ptrace_scope is 3)" in note
    seen = 0
    for path in (tmp_path / "traces").rglob("*.pt.trace.json*"):
        seen += sum(row["self_ns"] for row in stepscope.open(path).functions() if row["name"] == "grind")
    assert seen > 0


#: A child that works until it was seen: what was is written into a file every second or so.
UNTIL_SEEN = dedent("""\
    import multiprocessing, pathlib, time

    def is_seen():
        journals = pathlib.Path("profiler_traces").glob("*.unfinished.*")
        return any("loader (pid " in path.read_text(errors="replace") for path in journals)

    def work():
        until = time.monotonic() + 60
        while time.monotonic() < until and not is_seen():
            sum(range(100_000))

    if __name__ == "__main__":
        process = multiprocessing.get_context("fork").Process(target=work, name="loader")
        process.start()
        process.join()
    """)


def test_what_was_sampled_is_said(script, stepscope_run):
    got = stepscope_run(script(UNTIL_SEEN))
    said = "stepscope: 1 child process was sampled too: loader (pid "
    assert any(note.startswith(said) for note in got.notes), got.notes


def test_following_can_be_switched_off(tmp_path, script, stepscope_run):
    got = stepscope_run("--no-follow", "-o", "traces", script(PROGRAM), "threads")
    assert any(note == "stepscope: 1 child process was not recorded" for note in got.notes)
    assert not [row for row in the_trace(tmp_path / "traces").functions() if row["name"] == "grind"]


def test_a_program_that_is_killed_leaves_what_was_seen_of_its_children(tmp_path, script, popen):
    running = popen("-q", "-o", "traces", script(PROGRAM), "long", profiled=True)
    child = int(running.stdout.readline())
    # The journal is written every second or so.
    deadline, seen_ns = time.monotonic() + 60, 0
    while seen_ns <= 0.3e9 and time.monotonic() < deadline:
        time.sleep(0.3)
        with contextlib.suppress(stepscope.StepscopeError, OSError, ValueError):
            seen_ns = sum(
                row["self_ns"] for row in the_trace(tmp_path / "traces").functions() if row["name"] == "grind"
            )
    running.kill()
    os.kill(child, signal.SIGKILL)
    running.communicate()
    assert the_row(the_trace(tmp_path / "traces"), "grind")["self_ns"] > 0.3e9


def test_many_short_children_are_no_burden(tmp_path, script, stepscope_run):
    file = script(
        dedent("""\
        import os, resource, time
        def blink():
            until = time.perf_counter() + 0.004
            while time.perf_counter() < until:
                pass
        for _ in range(100):
            child = os.fork()
            if not child:
                blink()
                os._exit(0)
            os.waitpid(child, 0)
        print(len(os.listdir("/proc/self/fd")) < 40)
        """)
    )
    got = stepscope_run("-o", "traces", file)
    assert (got.out, got.code) == ("True\n", 0)
    # One line, however many there were, and however few were seen.
    assert sum("child process" in note for note in got.notes) == 1, got.notes


@pytest.mark.frameworks
def test_workers_of_a_data_loader_have_their_numbers(tmp_path, script, stepscope_run):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    # All of it is recorded, however long a busy machine takes for it.
    script("import stepscope._launch.recording_limits as it\nit.BEGINNING_SECONDS = 600.0\n", "sites/sitecustomize.py")
    file = script(
        dedent("""\
        import pathlib, time, torch
        give_up = time.monotonic() + 60
        def read_slowly():
            until = time.perf_counter() + 0.02
            while time.perf_counter() < until:
                pass
        def is_seen():
            # What was seen is written every second or so; a busy machine is slow to find a child.
            name = f"DataLoader worker {torch.utils.data.get_worker_info().id} (pid "
            texts = [path.read_text(errors="replace") for path in pathlib.Path("traces").glob("*.unfinished.*")]
            return any(name in text and "read_slowly" in text for text in texts) or time.monotonic() > give_up
        class Slow(torch.utils.data.Dataset):
            was_seen = False
            def __len__(self):
                return 40
            def __getitem__(self, at):
                read_slowly()
                while not self.was_seen:
                    read_slowly()
                    self.was_seen = is_seen()
                return torch.tensor(float(at))
        if __name__ == "__main__":
            loader = torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=2)
            print(sum(float(batch.sum()) for batch in loader))
        """)
    )
    got = stepscope_run("-q", "-o", "traces", file)
    assert (got.out, got.code) == ("780.0\n", 0)
    trace = the_trace(tmp_path / "traces")
    # How much of it is seen depends on how busy the machine is.
    assert the_row(trace, "read_slowly")["self_ns"] > 0
    names = processes(trace)
    for number in (0, 1):
        assert any(name.startswith(f"DataLoader worker {number} (pid ") for name in names), names
