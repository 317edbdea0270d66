"""``stepscope run --memory``: the program as without us, and a file that says who held what."""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import dedent

import pytest

import stepscope

from .conftest import ENVIRONMENT, STEPSCOPE_RUN

PROGRAM = dedent("""\
    import sys
    kept = []

    def load(count):
        for _ in range(count):
            kept.append(bytearray(2_000_000))

    def main():
        load(20)
        scratch = bytearray(30_000_000)
        del scratch
        return len(kept)

    if __name__ == "__main__":
        print(main(), sys.argv[1:])
        print("to stderr", file=sys.stderr)
        sys.exit(7)
    """)


def lines_of(path):
    return {(row["function"], row["line"]): row for row in stepscope.open(path).memory()}


@pytest.mark.parametrize("option", ["--memory", "--memory=exact"])
def test_the_program_is_as_without_us(tmp_path, script, python, stepscope_run, option):
    name = script(PROGRAM)
    bare, got = python(name, "a", "-b"), stepscope_run(option, name, "a", "-b")
    assert (got.out, got.code) == (bare.out, bare.code) == ("20 ['a', '-b']\n", 7)
    assert got.err.startswith("to stderr\n")
    assert "PEAK" in got.err and "LEFT" in got.err and "script.py:6" in got.err
    assert got.notes[-1] == "stepscope: script.py.mem  (look again: stepscope memory script.py.mem)"
    rows = lines_of(tmp_path / "script.py.mem")
    load, scratch = rows["load", 6], rows["main", 10]
    if option == "--memory=exact":
        # Of Python 3.9 to 3.13 a bytearray takes 57 bytes and its content; the list takes a little too.
        assert 20 * 2_000_057 <= load["live_bytes"] < 20 * 2_000_057 + 1000
        assert scratch["peak_bytes"] == 30_000_057
    assert abs(load["live_bytes"] / 40e6 - 1) < 0.1 and scratch["live_bytes"] == 0
    # Nothing of ours is in a stack.
    stacks = [frame for row in stepscope.open(tmp_path / "script.py.mem").memory(by="stack") for frame in row["stack"]]
    assert stacks and not any("stepscope/_" in frame for frame in stacks)


def test_quiet_and_output(tmp_path, script, stepscope_run):
    got = stepscope_run("--memory", "-q", "-o", "here.mem", script(PROGRAM))
    assert got.err == "to stderr\n"
    assert lines_of(tmp_path / "here.mem")


def test_an_exception_is_shown_and_recorded(tmp_path, script, python, stepscope_run):
    name = script("kept = bytearray(5_000_000)\nraise ValueError('no')\n")
    bare, got = python(name), stepscope_run("--memory=exact", name)
    assert got.code == bare.code == 1
    assert got.err.startswith(bare.err)
    assert lines_of(tmp_path / "script.py.mem")["<module>", 1]["live_bytes"] == 5_000_057


def test_os_exit_writes_before(tmp_path, script, stepscope_run):
    got = stepscope_run("--memory=exact", script("import os\nkept = bytearray(5_000_000)\nos._exit(3)\n"))
    assert got.code == 3
    assert 5_000_057 <= lines_of(tmp_path / "script.py.mem")["<module>", 2]["live_bytes"] < 5_001_000


def test_a_crash_leaves_what_was_known(tmp_path, script, stepscope_run):
    text = dedent("""\
        import ctypes, os, time
        import stepscope._launch.memory_run
        kept = bytearray(5_000_000)
        for turn in range(2):
            # The second file may be the first to know of it: one may have been on its way.
            before = os.stat("script.py.mem").st_mtime_ns if os.path.exists("script.py.mem") else 0
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if os.path.exists("script.py.mem") and os.stat("script.py.mem").st_mtime_ns > before:
                    break
                time.sleep(0.02)
        ctypes.string_at(0)
        """)
    program = script(text)
    (tmp_path / "sitecustomize.py").write_text("")
    runner = script(
        dedent("""\
        import sys
        import stepscope._launch.memory_saver as memory_saver
        # Also where a busy machine takes long to write.
        memory_saver.SAVE_EVERY_S, memory_saver.SAVE_SHARE = 0.2, 1.0
        from stepscope._run import main
        sys.exit(main(["--memory=exact", "script.py"]))
        """),
        "runner.py",
    )
    done = subprocess.run([sys.executable, runner], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode < 0 and program
    rows = lines_of(tmp_path / "script.py.mem")
    assert rows["<module>", 3]["live_bytes"] == 5_000_057
    assert "still running" in stepscope.open(tmp_path / "script.py.mem").summary()


@pytest.mark.parametrize("allocator", ["debug", "pymalloc_debug", "malloc", "malloc_debug"])
def test_any_allocator_of_python_is_tracked(allocator, tmp_path, script):
    text = dedent("""\
        import threading
        kept = []
        def fill(n):
            kept.append(bytearray(n * 1_000_000))
            for _ in range(20_000):
                str(n) + "x"
        for n in (1, 2):
            thread = threading.Thread(target=fill, args=(n,))
            thread.start()
            thread.join()
        print(sum(map(len, kept)))
        """)
    command = [*STEPSCOPE_RUN, "--memory=exact", "-q", script(text)]
    environment = {**ENVIRONMENT, "PYTHONMALLOC": allocator}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3000000\n", "")
    # What was asked for, without what a debugging allocator puts around it: an object has 56 bytes and a null byte.
    row = lines_of(tmp_path / "script.py.mem")["fill", 4]
    assert 3_000_000 + 2 * 57 <= row["live_bytes"] < 3_000_500


def test_forked_children_change_nothing(tmp_path, script, stepscope_run):
    text = dedent("""\
        import multiprocessing

        def work(n):
            return len(bytearray(n * 1_000_000))

        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(work, [1, 2, 3]))
        """)
    got = stepscope_run("--memory=exact", script(text))
    assert (got.out, got.code) == ("[1000000, 2000000, 3000000]\n", 0)
    assert not any(function == "work" for function, _ in lines_of(tmp_path / "script.py.mem"))


def test_lines_by_name_and_by_mark(tmp_path, script, stepscope_run):
    text = dedent("""\
        @profile
        def marked():
            a = bytearray(b"x") * 30_000_000
            return len(a)

        def other():
            b = bytearray(b"x") * 40_000_000
            return len(b)

        print(marked() + other())
        """)
    name = script(text)
    got = stepscope_run("--memory", "--lines", "other", name)
    assert got.out == "70000000\n"
    head = got.err.splitlines().index("Line #    Mem usage    Increment  Occurrences   Line Contents")
    assert got.err.splitlines()[head + 1] == "=" * 61
    answer = stepscope.open(tmp_path / "script.py.mem").ask("memory", lines=True)
    rows = {(row["function"], row["line"]): row for row in answer["line_memory"]}
    assert 28e6 < rows["marked", 3]["increment_bytes"] < 32e6
    assert 38e6 < rows["other", 7]["increment_bytes"] < 42e6
    assert rows["other", 7]["occurrences"] == 1 and rows["other", 7]["allocated_bytes"] > 39e6


# Whether memory grows is judged by when it was taken.
@pytest.mark.clock
def test_growth_is_told_from_what_is_needed(tmp_path, script, stepscope_run):
    text = dedent("""\
        import time
        table = bytearray(20_000_000)
        cache = []
        for step in range(40):
            cache.append(bytearray(500_000))
            time.sleep(0.03)
        """)
    got = stepscope_run("--memory=exact", script(text))
    rows = lines_of(tmp_path / "script.py.mem")
    assert rows["<module>", 2]["growth_bytes"] == 0
    assert rows["<module>", 5]["growth_bytes"] > 4_000_000
    assert "script.py:5 (<module>) grew by" in got.err


def test_with_the_trace_in_one_run(tmp_path, script, stepscope_run):
    text = "import time\nkept = bytearray(9_000_000)\nend = time.monotonic() + 0.5\n"
    text += "while time.monotonic() < end: pass\n"
    got = stepscope_run("--memory", "--trace", "-o", "traces", script(text))
    assert got.code == 0, got.err
    assert list((tmp_path / "traces").iterdir())
    assert lines_of(tmp_path / "script.py.mem")["<module>", 2]["live_bytes"] > 8_000_000


@pytest.mark.parametrize(
    "words, message",
    [
        (["--memory=all"], "--memory takes exact or sampled"),
        (["--memory", "--functions"], "--functions and --memory do not go together"),
    ],
)
def test_wrong_words(script, stepscope_run, words, message):
    got = stepscope_run(*words, script("pass"))
    assert got.code == 2 and message in got.err


def test_flame_graphs_are_of_bytes(tmp_path, script, stepscope_run):
    stepscope_run("--memory=exact", "-q", script(PROGRAM))
    from stepscope._native import main

    target = tmp_path / "out.speedscope.json"
    assert main(["export", str(tmp_path / "script.py.mem"), "--to", "speedscope", "-o", str(target)]) == 0
    units = {profile["unit"] for profile in json.loads(target.read_text())["profiles"]}
    assert units == {"bytes", "none"}
    assert main(["export", str(tmp_path / "script.py.mem"), "--to", "svg", "-o", str(tmp_path / "a.svg")]) == 0
    assert "load" in (tmp_path / "a.svg").read_text()
