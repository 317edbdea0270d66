"""``stepscope run --functions``, ``--lines`` and ``--calls``: counted, timed, recorded, the program as without us."""

from __future__ import annotations

import pickle
import pstats
import re
import signal
import subprocess
import sys
from textwrap import dedent

import pytest

import stepscope

MONITORING = hasattr(sys, "monitoring")

PROGRAM = dedent("""\
    import sys, threading

    def square(x):
        return x * x

    class Work:
        def run(self, n):
            total = 0
            for i in range(n):
                total += square(i)
            return total

    def main():
        thread = threading.Thread(target=Work().run, args=(100,))
        thread.start()
        thread.join()
        return Work().run(10)

    if __name__ == "__main__":
        print(main(), sys.argv[1:], file=sys.stdout)
        print("to stderr", file=sys.stderr)
        sys.exit(7)
    """)


def rows_of(path):
    return {label[2]: row for label, row in pstats.Stats(str(path)).stats.items()}


def test_functions(tmp_path, script, stepscope_run):
    got = stepscope_run("--functions", "--top", "5", "--sort", "calls", script(PROGRAM), "a", "-b")
    assert (got.out, got.code) == ("285 ['a', '-b']\n", 7)
    lines = got.err.splitlines()
    assert lines[0] == "to stderr"
    assert "   Ordered by: call count" in lines
    head = lines.index("   ncalls  tottime  percall  cumtime  percall filename:lineno(function)")
    assert re.fullmatch(r" +110 .*script.py:3\(square\)", lines[head + 1])
    assert [line for line in lines[head + 1 : head + 6] if line.strip()] == lines[head + 1 : head + 6]
    assert re.match(r"stepscope: \d+ calls in .*, about .* of it for recording them \(estimated", got.notes[-2])
    assert got.notes[-1].startswith("stepscope: script.py.prof  (look again: ")
    rows = rows_of(tmp_path / "script.py.prof")
    # Threads that the program starts are counted, each by itself.
    assert rows["square"][:2] == (110, 110) and rows["run"][:2] == (2, 2) and rows["main"][:2] == (1, 1)
    assert {label[2] for label in rows["main"][4]} == {"<module>"}
    assert {label[2] for label in rows["<module>"][4]} == {"<built-in method builtins.exec>"}
    # Nothing of ours is in it.
    assert not any("stepscope" in label[0] for label in pstats.Stats(str(tmp_path / "script.py.prof")).stats)


def test_a_timeline(tmp_path, script, stepscope_run):
    got = stepscope_run("--calls", script(PROGRAM), "a", "-b")
    assert (got.out, got.code) == ("285 ['a', '-b']\n", 7)
    assert re.match(r"stepscope: \d+ calls \([\d.]+ [KM]iB\) in .*: recording cost about \d+\.\dx", got.notes[-2])
    assert got.notes[-1] == "stepscope: script.py.calls  (open: stepscope view script.py.calls)"
    rows = {row["name"]: row for row in stepscope.open(tmp_path / "script.py.calls").functions()}
    assert rows["square"]["calls"] == 110
    assert not any("stepscope" in (row["file"] or "") for row in rows.values())


def test_a_timeline_of_some_calls(tmp_path, script, stepscope_run):
    file = script(PROGRAM)
    stepscope_run("--calls", "--include", "square,Work.*", "--exclude=main", "-o", "x.calls", file)
    names = {row["name"].split(".")[-1]: row["calls"] for row in stepscope.open(tmp_path / "x.calls").functions()}
    if sys.version_info >= (3, 11):  # before, code does not know its class
        assert names == {"square": 110, "run": 2}
    assert names["square"] == 110
    got = stepscope_run("--calls", "--max-calls", "20", "-o", "x.calls", file)
    assert got.code == 7 and "stepscope: recording ended early: 20 calls were recorded (--max-calls)" in got.notes
    stepscope_run("--calls", "--min-duration", "10s", "-o", "x.calls", file)
    assert len(stepscope.open(tmp_path / "x.calls").functions()) == 0


def test_counts_are_those_of_cprofile(tmp_path, script, python, stepscope_run):
    # Without imports: modules that stepscope needs are there already.
    file = script(re.sub(r"(?m)^ +thread.*\n", "", PROGRAM).replace(", threading", ""))
    stepscope_run("--functions", "-o", "ours.prof", file)
    python("-m", "cProfile", "-o", "theirs.prof", file)
    ours, theirs = rows_of(tmp_path / "ours.prof"), rows_of(tmp_path / "theirs.prof")
    theirs.pop("<method 'disable' of '_lsprof.Profiler' objects>")
    assert ours["square"][:2] == (10, 10)
    assert {name: row[:2] for name, row in ours.items()} == {name: row[:2] for name, row in theirs.items()}


def test_lines_of_named_functions(tmp_path, script, stepscope_run):
    got = stepscope_run("--lines", "square", "Work.*", "-o", "out.lprof", script(PROGRAM))
    assert (got.out, got.code) == ("285 []\n", 7)
    hits = {
        line.split("  ")[-1].strip(): line.split()[1] for line in got.err.splitlines() if re.match(r" +\d+ +\d", line)
    }
    assert hits == {
        "total = 0": "2",
        "for i in range(n):": "112",
        "total += square(i)": "110",
        "return total": "2",
        "return x * x": "110",
    }
    assert got.notes[-1].startswith("stepscope: out.lprof  (look again: ")

    class Stats:
        pass

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            return Stats

    with open(tmp_path / "out.lprof", "rb") as file:
        read = Reader(file).load()
    functions = {name: [row[:2] for row in rows] for (_, _, name), rows in read.timings.items()}
    run = "Work.run" if sys.version_info >= (3, 11) else "run"
    assert functions == {run: [(8, 2), (9, 112), (10, 110), (11, 2)], "square": [(4, 110)]}


def test_lines_of_marked_functions(script, stepscope_run):
    text = PROGRAM.replace("def square", "@profile\ndef square").replace(
        "def main", "import stepscope\n@stepscope.profile_lines\ndef main"
    )
    got = stepscope_run("--lines", script(text))
    assert (got.out, got.code) == ("285 []\n", 7)
    assert got.err.count("Total time:") == 2
    assert "Function: square at line 3" in got.err and "Function: main at line 15" in got.err


@pytest.mark.parametrize(
    "arguments, note",
    [
        (["--lines", "script.py"], "no function decorated with @profile ran"),
        (["--lines=nothing", "script.py"], "no function called nothing ran"),
    ],
)
def test_nothing_to_time(arguments, note, tmp_path, script, stepscope_run):
    script(PROGRAM)
    got = stepscope_run(*arguments)
    assert (got.out, got.code) == ("285 []\n", 7)
    assert note in got.notes[-1]
    assert not list(tmp_path.glob("*.lprof"))


def test_a_module(tmp_path, script, stepscope_run):
    script(PROGRAM, "pack/__main__.py")
    script("", "pack/__init__.py")
    assert stepscope_run("--functions", "-m", "pack").code == 7
    assert rows_of(tmp_path / "pack.prof")["square"][1] == 110
    assert stepscope_run("--lines", "square", "-m", "pack").code == 7
    assert (tmp_path / "pack.lprof").exists()


def test_what_cannot_be_done_is_told(tmp_path, script, stepscope_run):
    file = script(PROGRAM)
    for arguments, text in (
        (["--functions", "--lines", file], "--functions and --lines do not go together"),
        (["--functions", "--sort", "size", file], "--sort must be one of"),
        (["--functions", "--top", "many", file], "--top must be a number"),
    ):
        got = stepscope_run(*arguments)
        assert got.code == 2 and text in got.err
    got = stepscope_run("--functions", "-o", "none/x.prof", file)
    assert got.code == 7 and "cannot write the calls to" in got.err


@pytest.mark.parametrize(
    "theirs",
    [
        "sys.setprofile(lambda *a: None)",
        "import cProfile; p = cProfile.Profile(); p.enable(); square(1); p.disable()",
    ],
    ids=["setprofile", "cProfile"],
)
def test_a_profile_function_of_the_program(theirs, tmp_path, script, python, stepscope_run):
    text = PROGRAM.replace("    sys.exit(7)", f"    square(5)\n    {theirs}\n    square(5)\n    sys.exit(7)")
    file = script(text)
    expected, got = python(file), stepscope_run("--functions", file)
    assert (got.out, got.code) == (expected.out, expected.code)
    told = [note for note in got.notes if "installed a profile function of its own" in note]
    if MONITORING:
        assert not told and rows_of(tmp_path / "script.py.prof")["square"][1] == 112 + theirs.count("square")
    else:
        assert told and rows_of(tmp_path / "script.py.prof")["square"][1] == 111


def test_a_trace_function_of_the_program(script, python, stepscope_run):
    text = PROGRAM.replace("    sys.exit(7)", "    sys.settrace(lambda *a: None)\n    square(5)\n    sys.exit(7)")
    file = script(text)
    expected, got = python(file), stepscope_run("--lines=square", file)
    assert (got.out, got.code) == (expected.out, expected.code)
    assert any("installed a trace function of its own" in note for note in got.notes) is not MONITORING


def test_a_program_that_counts_itself(script, python, stepscope_run):
    text = "import stepscope\ndef f(): pass\nwith stepscope.functions() as calls:\n    f()\nprint(calls.calls)\n"
    got = stepscope_run("--functions", script(text))
    assert (got.out, got.code) == ("1\n", 0)
    assert any("counts calls itself" in note for note in got.notes) is not MONITORING


FORKS = """\
import os, sys
def f(): return 1
f()
child = os.fork()
f()
if child:
    os.waitpid(child, 0)
print("parent" if child else "child", flush=True)
"""


def test_a_fork(tmp_path, script, stepscope_run):
    for arguments in (["--functions"], ["--lines=f"]):
        got = stepscope_run(*arguments, script(FORKS))
        assert (got.out, got.code) == ("child\nparent\n", 0)
        assert len(got.notes) == 3
    # Twice here and once in the child.
    assert rows_of(tmp_path / "script.py.prof")["f"][1] == 3
    got = stepscope_run("--functions", "--no-follow", script(FORKS))
    assert len(got.notes) == 2
    assert rows_of(tmp_path / "script.py.prof")["f"][1] == 2


@pytest.mark.parametrize("mode", ["--functions", "--lines=*", "--calls"])
@pytest.mark.parametrize(
    "ending",
    [
        "os._exit(4)",
        "os.kill(os.getpid(), 9)",
        "threading.Thread(target=time.sleep, args=(0.2,)).start()",
        "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
        "raise KeyboardInterrupt",
        "def g():\n    try: yield\n    finally: len('x')\nkept = g(); next(kept)",
        "class D:\n    def __del__(self): len('x')\nkept = D()",
        "import atexit; atexit.register(lambda: print('bye'))",
        "sys.setrecursionlimit(5000)\ndef f(n): return n and f(n - 1)\nprint(f(4000))",
        "import gc; gc.collect(); [threading.Thread(target=len, args=('x',)).start() for _ in range(200)]",
    ],
)
def test_however_a_program_ends(mode, ending, script, python, stepscope_run):
    file = script(f"import os, sys, threading, time\nprint('a', flush=True)\n{ending}\n")
    expected, got = python(file), stepscope_run(mode, file)
    assert (got.out, got.code) == (expected.out, expected.code)


def test_many_threads_while_it_starts_and_stops(tmp_path, script):
    """Other threads call while events are switched on and off."""
    file = script(
        dedent("""\
        import threading, stepscope
        def f(n):
            return n and f(n - 1)
        done = threading.Event()
        def busy():
            while not done.is_set():
                f(20)
        threads = [threading.Thread(target=busy) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            with stepscope.functions() as calls, stepscope.lines(f):
                f(20)
            assert calls.calls >= 21
        done.set()
        for thread in threads:
            thread.join()
        print("fine")
        """)
    )
    done = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("fine\n", 0), done.stderr


def test_a_judge_that_takes_its_time(tmp_path, script):
    """A function is looked at for the first time in one thread while another one ends it all."""
    file = script(
        dedent("""\
        import threading, time
        from stepscope._exact.lines import lines
        for turn in range(30):
            scope = {}
            for number in range(20):
                exec(f"def f{number}(): return {number}", scope)
            def judge(code):
                time.sleep(0.001)
                return True
            def busy():
                for number in range(20):
                    scope[f"f{number}"]()
            timed = lines.judged(judge)
            with timed:
                threads = [threading.Thread(target=busy) for _ in range(4)]
                for thread in threads:
                    thread.start()
                time.sleep(0.005)
            for thread in threads:
                thread.join()
        print("fine")
        """)
    )
    done = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("fine\n", 0), done.stderr


def test_what_nobody_stops(script, python):
    text = """\
        import stepscope, threading
        def f(n):
            return n and f(n - 1)
        calls, timed = stepscope.functions(), stepscope.lines(f)
        calls.start()
        timed.start()
        threading.Thread(target=f, args=(100,)).start()
        print(f(100))
        """
    got = python(script(dedent(text)))
    assert (got.out, got.err, got.code) == ("0\n", "", 0)


BUSY = """\
import time
def idle():
    return 0
def hot():
    total = 0
    for i in range(20_000):
        total += i
    return total
def main():
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        idle()
        hot()
main()
"""


@pytest.mark.clock
def test_the_busiest_functions_are_found(script, stepscope_run):
    got = stepscope_run("--lines", "auto", script(BUSY))
    assert (got.out, got.code) == ("", 0)
    told = [note for note in got.notes if "busiest in the first 1 s" in note]
    assert len(told) == 1 and "hot" in told[0] and "idle" not in told[0]
    hits = [int(line.split()[1]) for line in got.err.splitlines() if line.endswith("total += i")]
    assert len(hits) == 1 and hits[0] > 20_000


def test_a_program_that_ends_before_it_is_known(script, stepscope_run):
    got = stepscope_run("--lines=auto", script(PROGRAM))
    assert (got.out, got.code) == ("285 []\n", 7)
    assert "the program ended within 1 s" in got.notes[-1]


CRASHES = """\
import ctypes, os, signal, sys, time

def work():
    total = 0
    for number in range(2000):
        total += number
    return total

# What was counted is kept every second: it ends once that has been done.
end = time.monotonic() + 60
while time.monotonic() < end and not os.path.exists(sys.argv[2]):
    work()
if sys.argv[1] == "segfault":
    ctypes.string_at(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["segfault", "kill"])
def test_a_crash_leaves_what_was_counted(how, tmp_path, script, stepscope_run):
    file = script(CRASHES)
    code = {"segfault": -signal.SIGSEGV, "kill": -signal.SIGKILL}[how]
    assert stepscope_run("--functions", file, how, "script.py.prof").code == code
    row = rows_of(tmp_path / "script.py.prof")["work"]
    assert row[1] > 100 and 0 < row[2] <= row[3]
    assert stepscope_run("--lines", "work", file, how, "script.py.lprof").code == code
    lines = {row["line"]: row for row in stepscope.open(tmp_path / "script.py.lprof").ask("lines")["lines"]}
    assert lines[6]["hits"] > 1_000 and set(lines) == {4, 5, 6, 7}
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    "mode, file",
    [("--functions", "script.py.prof"), ("--lines=work", "script.py.lprof"), ("--calls", "script.py.calls")],
)
def test_with_the_trace_in_one_run(mode, file, tmp_path, script, stepscope_run):
    text = dedent("""\
        import time
        def work():
            end = time.monotonic() + 0.5
            while time.monotonic() < end: sum(range(1000))
        began = time.monotonic()
        work()
        print(time.monotonic() - began)
        """)
    got = stepscope_run(mode, "--trace", "-o", "traces", script(text))
    assert got.code == 0, got.err
    (trace,) = (tmp_path / "traces").iterdir()
    functions = {row["name"]: row for row in stepscope.open(trace).ask("functions")["functions"]}
    # Sampled: no more than a clock around it says, but for the time between two looks.
    assert 2e8 < functions["work"]["total_ns"] < float(got.out) * 1e9 + 1e8
    assert (tmp_path / file).stat().st_size > 100
