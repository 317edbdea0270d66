"""A script under ``stepscope run`` behaves as under ``python``: output, tracebacks, exit codes, ``__main__``."""

from __future__ import annotations

import os
import re
import signal
import time
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

from .conftest import without_screen

SCRIPTS = {
    "arguments and module": """\
        import sys
        print(sys.argv, __name__, __file__, __spec__, __package__, __doc__, sorted(globals()))
        print(sys.modules["__main__"].__dict__ is globals(), type(__loader__).__name__)
        print(sys.path[0])
        """,
    "the end of a pickle": """\
        import pickle
        class Thing:
            pass
        print(type(pickle.loads(pickle.dumps(Thing()))) is Thing)
        """,
    "an exception": """\
        def inner():
            raise ValueError("no")
        def outer():
            inner()
        outer()
        """,
    "an exception with a cause": """\
        try:
            {}["a"]
        except KeyError as error:
            raise RuntimeError("later") from error
        """,
    "a syntax error": "print('before'\nx = = 1\n",
    "exit 3": "import sys\nsys.exit(3)\n",
    "exit none": "import sys\nsys.exit()\n",
    "exit false": "import sys\nsys.exit(False)\n",
    "exit with a text": "import sys\nsys.exit('that went wrong')\n",
    "exit negative": "import sys\nsys.exit(-1)\n",
    "raise SystemExit": "raise SystemExit(7)\n",
    "os._exit": "import os, sys\nprint('a', flush=True)\nos._exit(5)\n",
    "a base exception": "class Stop(BaseException): pass\nraise Stop('now')\n",
    "an excepthook of its own": """\
        import sys
        sys.excepthook = lambda kind, error, trace: print("hook", kind.__name__, trace.tb_frame.f_code.co_name)
        raise ValueError("no")
        """,
    "a broken excepthook": """\
        import sys
        def hook(*_):
            raise TypeError("hook")
        sys.excepthook = hook
        raise ValueError("no")
        """,
    "atexit": """\
        import atexit, sys
        value = 3
        atexit.register(lambda: print("value is still", value, sys.modules["__main__"].value))
        """,
    "a thread that outlives the script": """\
        import threading, time
        def late():
            time.sleep(0.3)
            print("late", data)
        data = [1]
        threading.Thread(target=late).start()
        print("end")
        """,
    "an executor that was not closed": """\
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        print(list(pool.map(abs, [-1, 2])))
        """,
    "multiprocessing": """\
        import multiprocessing
        def double(x):
            return 2 * x
        if __name__ == "__main__":
            for way in ("fork", "spawn"):
                with multiprocessing.get_context(way).Pool(1) as pool:
                    print(way, pool.map(double, [1, 2]))
        """,
    "a fork that runs on": """\
        import os, sys
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        print("parent" if child else "child", flush=True)
        """,
    "an import from beside the script": "import neighbour\nprint(neighbour.VALUE)\n",
    "standard input": "import sys\nprint(sys.stdin.read() == '')\n",
    "an encoding line": "# -*- coding: latin-1 -*-\nprint('plain')\n",
    "future annotations do not leak": "def f(x: int): pass\nprint(f.__annotations__)\n",
    "recursion": "def f(): return f()\nf()\n",
    "the current folder": """\
        import os, sys
        print(os.getcwd() == os.path.dirname(os.path.abspath(__file__)))
        os.makedirs("elsewhere", exist_ok=True)
        os.chdir("elsewhere")
        print(os.path.basename(os.getcwd()), os.listdir())
        """,
    "the environment": """\
        import os, subprocess, sys
        print(sorted(name for name in os.environ if name.startswith(("PYTHON", "STEPSCOPE"))))
        print(os.environ["PYTHONPATH"] == sys.path[1], sys.path[0] == os.path.dirname(os.path.abspath(__file__)))
        print(subprocess.run([sys.executable, "-c", "import os, sys; print(sorted(os.environ) == sys.argv[1:])",
              *sorted(os.environ)], stdout=subprocess.PIPE).stdout)
        """,
    "signals of its own": """\
        import os, signal
        signal.signal(signal.SIGUSR1, lambda number, frame: print("heard", number, frame.f_code.co_name))
        os.kill(os.getpid(), signal.SIGUSR1)
        print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, signal.getsignal(signal.SIGINT).__name__)
        """,
    "an alarm that kills": "import signal, time\nsignal.alarm(1)\ntime.sleep(20)\n",
    "an end by SIGTERM": "import os, signal\nprint('a', flush=True)\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "a crash": "import ctypes\nprint('a', flush=True)\nctypes.string_at(0)\n",
    "a thousand threads": """\
        import threading
        done = []
        def one(number):
            done.append(number)
        for start in range(0, 1000, 100):
            threads = [threading.Thread(target=one, args=(start + number,)) for number in range(100)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        print(sorted(done) == list(range(1000)), threading.active_count() < 5)
        """,
    "an exception in a thread": """\
        import threading
        def fails():
            raise ValueError("in a thread")
        threading.excepthook = lambda args: print(args.exc_type.__name__, args.exc_value)
        thread = threading.Thread(target=fails)
        thread.start()
        thread.join()
        """,
    "a trace function of its own": """\
        import sys
        seen = []
        def trace(frame, event, argument):
            if frame.f_code.co_name == "f":
                seen.append((event, frame.f_lineno))
            return trace
        def f():
            x = 1
            return x
        sys.settrace(trace)
        f()
        sys.settrace(None)
        print(seen)
        """,
    "its own source": """\
        import inspect, sys
        def f(x):
            return x + 1  # a remark
        class Thing:
            pass
        print(inspect.getsource(f), inspect.getsource(Thing), inspect.getsourcefile(f) == __file__)
        print(inspect.getmodule(f) is sys.modules["__main__"], [frame.function for frame in inspect.stack()][:1])
        """,
    "coroutines and generators": """\
        import asyncio
        def numbers():
            try:
                yield 1
                yield 2
            finally:
                print("closed")
        for number in numbers():
            print(number)
            break
        async def one(name):
            for _ in range(3):
                await asyncio.sleep(0)
                print(name, end=" ")
            return name
        async def main():
            print(await asyncio.gather(*[one(name) for name in "abc"]))
            task = asyncio.create_task(asyncio.sleep(10))
            await asyncio.sleep(0)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                print("canceled")
        asyncio.run(main())
        """,
    "a forked child that fails": """\
        import os, sys
        child = os.fork()
        if not child:
            raise ValueError("in the child")
        print(os.waitpid(child, 0)[1] >> 8)
        """,
    "a process that is terminated": """\
        import multiprocessing, time
        if __name__ == "__main__":
            process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(30,))
            process.start()
            time.sleep(0.2)
            process.terminate()
            process.join()
            print(process.exitcode)
        """,
    "objects that end with the interpreter": """\
        class Last:
            def __del__(self):
                print("gone")
        kept = Last()
        """,
}


CTRL_C = """\
import time
print('ready', flush=True)
try:
    time.sleep(30)
finally:
    print('cleaned', flush=True)
"""


@pytest.fixture(autouse=True)
def neighbour(script):
    script("VALUE = 5\n", "neighbour.py")


MODES = [["-q"], ["--functions", "-q"], ["--lines=*", "-q"], ["--calls", "-q"]]


@pytest.mark.parametrize("options", MODES, ids=["", "functions", "lines", "calls"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_as_python(name, options, script, as_python, stepscope_run):
    file = script(dedent(SCRIPTS[name]))
    expected, got = as_python(name, file, "a", "--b=c"), stepscope_run(*options, file, "a", "--b=c")
    assert got.out == expected.out
    assert got.code == expected.code
    if name == "a broken excepthook":  # Python tells of the hook's failure too
        assert "ValueError: no" in got.own_err
    else:
        # Our own frames stand below the script's: its recursion ends a few calls earlier.
        assert _without_counts(got.own_err) == _without_counts(expected.err)


def _without_counts(text):
    text = re.sub(r"repeated \d+ more times", "repeated", text)
    # From Python 3.12 on a script that forks is told of threads, and ours are some.
    return re.sub(r".*DeprecationWarning: This process .* is multi-threaded.*\n.*\n", "", text)


def test_a_script_in_another_folder(script, python, stepscope_run):
    script("VALUE = 6\n", "sub/neighbour.py")
    file = script("import neighbour, sys\nprint(neighbour.VALUE, sys.argv, __file__)\n1/0\n", "sub/deep.py")
    expected, got = python(file), stepscope_run(file)
    assert (got.out, got.code, got.own_err) == (expected.out, expected.code, expected.err)


PACKAGE = {
    "pack/__init__.py": "print('init')\n",
    "pack/__main__.py": (
        "import sys\nfrom . import part\nprint(__name__, __package__, __spec__.name, sys.argv[1:], sys.path[0])\n"
    ),
    "pack/part.py": "import sys\nprint('part', __name__, sys.argv[0].endswith('.py'))\n",
    "pack/broken.py": "import does_not_exist\n",
}


@pytest.mark.parametrize("module", ["pack", "pack.part", "pack.broken", "pack.none", "none", "none.none"])
def test_a_module(module, script, python, stepscope_run):
    for name, text in PACKAGE.items():
        script(text, name)
    expected, got = python("-m", module, "x", "-y"), stepscope_run("-m", module, "x", "-y")
    assert (got.out, got.code) == (expected.out, expected.code)
    if "Traceback" in expected.err:
        # Python shows frames of runpy above the module's; ours are not shown.
        assert got.own_err.splitlines()[-1] == expected.err.splitlines()[-1]
        assert "launch" not in got.own_err
    elif expected.err:
        assert got.own_err.split(":", 1)[1].startswith(" No module named")


def test_a_folder_and_an_archive(tmp_path, script, python, stepscope_run):
    script("import sys, other\nprint(__name__, other.X, sys.argv, sys.path[0], __file__)\n", "app/__main__.py")
    script("X = 1\n", "app/other.py")
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        for name in ("__main__.py", "other.py"):
            archive.write(tmp_path / "app" / name, name)
    for target in ("app", "app.zip"):
        expected, got = python(target, "a"), stepscope_run(target, "a")
        assert (got.out, got.code, got.own_err) == (expected.out, expected.code, expected.err)


def test_what_cannot_be_run_is_told(stepscope_run):
    for arguments, text in (
        (["none.py"], "no such script: none.py"),
        ([], "no script to run"),
        (["--wrong", "a.py"], "no option --wrong"),
        (["--config"], "--config needs a value"),
        (["--seconds", "soon", "a.py"], "--seconds must be a number"),
    ):
        got = stepscope_run(*arguments)
        assert got.code == 2
        assert got.err.startswith("stepscope run: ") and text in got.err
    assert stepscope_run("--help").out.startswith("Run a Python script")


def until_asleep(number):
    """Until the main thread of a process waits in a call: it sleeps, and was not woken up for a while."""
    status, before, give_up = Path(f"/proc/{number}/status"), [], time.monotonic() + 60
    while time.monotonic() < give_up:
        time.sleep(0.2)
        lines = status.read_text().splitlines() if status.exists() else []
        now = [line for line in lines if line.startswith("State:") or "ctxt_switches:" in line]
        if now == before and (not now or "sleeping" in now[0]):
            return
        before = now


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_by_the_signal_with_the_scripts_traceback(tmp_path, script, popen):
    file = script(CTRL_C)
    results = []
    for profiled in (False, True):
        process = popen(file, profiled=profiled)
        assert process.stdout.readline() == "ready\n"
        until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        said, _ = without_screen(err)
        own = [line for line in said.splitlines() if not line.startswith("stepscope: ")]
        results.append((process.returncode, out, own))
    assert results[1] == results[0]
    assert results[0][0] == -signal.SIGINT
    assert len(list((tmp_path / "profiler_traces").glob("*.pt.trace.json.gz"))) == 1
