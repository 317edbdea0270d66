"""Child processes under ``--functions``, ``--lines`` and ``--calls``: recorded, added up, and none the wiser."""

from __future__ import annotations

import os
import pstats
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import stepscope

pytestmark = pytest.mark.skipif(os.name != "posix", reason="children are followed on POSIX systems")

PROGRAM = dedent("""\
    import json, multiprocessing, os, subprocess, sys

    def square(x):
        return x * x

    def work(n):
        return sum([square(i) for i in range(n)])

    def seen():
        path = [entry for entry in sys.path if "child_site" in entry]
        return ["STEPSCOPE_FOLLOW" in os.environ, os.environ.get("PYTHONPATH"), path, "sitecustomize" in sys.modules]

    if __name__ == "__main__":
        way = sys.argv[1]
        if way == "pools":
            for how in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(how).Pool(2) as pool:
                    print(pool.map(work, [10, 20], chunksize=1))
        elif way == "process":
            process = multiprocessing.get_context("fork").Process(target=work, args=(10,), name="a loader/1")
            process.start()
            process.join()
            print(process.exitcode)
        elif way == "left":  # for the interpreter to end
            pool = multiprocessing.get_context("fork").Pool(1)
            print(pool.map(work, [10]))
        elif way == "subprocess":
            for environment in (None, {**os.environ, "MORE": "1"}):
                done = subprocess.run([sys.executable, __file__, "child"], env=environment, stdout=subprocess.PIPE)
                print(done.stdout.decode(), done.returncode)
        elif way == "child":
            work(10)
            print(json.dumps(seen()))
            sys.exit(4)
        elif way == "fork":
            child = os.fork()
            if not child:
                work(10)
                os._exit(6)
            print(os.waitpid(child, 0)[1] >> 8)
        print(json.dumps(seen()))
        work(5)
    """)

#: How often ``square`` is called in all processes.
SQUARES = {"pools": 95, "process": 15, "left": 15, "subprocess": 25, "fork": 15}
MODES = {
    "functions": (["--functions"], ".prof"),
    "lines": (["--lines", "square"], ".lprof"),
    "calls": (["--calls"], ".calls"),
}


def squares(path: Path) -> int:
    opened = stepscope.open(path)
    if path.suffix == ".lprof":
        return sum(opened.lines().column("hits"))
    rows: list[dict[str, Any]] = [row for row in opened.functions() if row["name"] == "square"]
    return sum(row["calls"] for row in rows)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", SQUARES)
def test_children_are_recorded(way, mode, tmp_path, script, as_python, stepscope_run):
    options, ending = MODES[mode]
    file = script(PROGRAM)
    expected, got = as_python(way, file, way), stepscope_run(*options, "-q", file, way)
    assert (got.out, got.code, got.err) == (expected.out, expected.code, expected.err)
    assert squares(tmp_path / f"script.py{ending}") == SQUARES[way]


def test_workers_of_all_pools_hear_the_signal_that_ends_them(script, stepscope_run):
    """One that comes right before a worker waits is repeated, for which a thread is woken up by signals."""
    program = """\
        import multiprocessing, signal

        def is_woken_up():
            file = signal.set_wakeup_fd(-1)
            signal.set_wakeup_fd(file)
            return file != -1

        if __name__ == "__main__":
            for how in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(how).Pool(1) as pool:
                    print(how, pool.apply(is_woken_up))
        """
    got = stepscope_run("--calls", "-q", script(dedent(program)))
    assert got.out.splitlines() == ["fork True", "spawn True", "forkserver True"]


def test_each_process_has_a_file(tmp_path, script, stepscope_run):
    got = stepscope_run("--functions", script(PROGRAM), "process")
    found = sorted(path.name for path in tmp_path.glob("script.py*.prof"))
    assert len(found) == 3
    assert any(name.startswith("script.py.a_loader_1-") for name in found)
    own = next(tmp_path.glob("script.py.MainProcess-*.prof"))
    child = next(tmp_path.glob("script.py.a_loader_1-*.prof"))
    assert (squares(own), squares(child), squares(tmp_path / "script.py.prof")) == (5, 10, 15)
    assert any("1 child process recorded too" in note for note in got.notes)
    # As pstats itself adds them.
    added = pstats.Stats(str(own), str(child)).stats
    together = pstats.Stats(str(tmp_path / "script.py.prof")).stats
    assert {label: row[:2] for label, row in added.items()} == {label: row[:2] for label, row in together.items()}
    for label, row in added.items():
        assert together[label][2:4] == pytest.approx(row[2:4])
        assert {by: row[:2] for by, row in together[label][4].items()} == {by: r[:2] for by, r in row[4].items()}


def test_processes_are_lanes_of_one_timeline(tmp_path, script, stepscope_run):
    stepscope_run("--calls", "-q", script(PROGRAM), "process")
    assert [path.name for path in tmp_path.glob("*.calls")] == ["script.py.calls"]
    text = (tmp_path / "script.py.calls").read_bytes()
    assert text.count(b"\x8fcalls1\n") == 2
    info = stepscope.open(tmp_path / "script.py.calls").ask("info")["info"]
    assert info["processes"] == 2
    assert [lane["process_name"] for lane in info["lanes"]] == ["script.py", "script.py"]


def test_following_can_be_switched_off(tmp_path, script, stepscope_run):
    for mode, (options, ending) in MODES.items():
        stepscope_run(*options, "--no-follow", "-q", script(PROGRAM), "process")
        assert squares(tmp_path / f"script.py{ending}") == 5, mode
    assert not list(tmp_path.glob("script.py.*-*"))


def test_a_sitecustomize_of_the_programs_own_runs_too(tmp_path, script, python, stepscope_run):
    script("import sys\nsys.custom = sys.modules['sitecustomize'].__file__\n", "site/sitecustomize.py")
    child = "import sys; print(sys.custom, sys.modules['sitecustomize'].__file__ == sys.custom)"
    file = script(
        "import os, subprocess, sys\n"
        f"os.environ['PYTHONPATH'] = {str(tmp_path / 'site')!r} + os.pathsep + os.environ['PYTHONPATH']\n"
        f"subprocess.run([sys.executable, '-c', {child!r}], env=dict(os.environ))\n"
    )
    expected, got = python(file), stepscope_run("--functions", "-q", file)
    assert expected.out.endswith("sitecustomize.py True\n")
    assert (got.out, got.code, got.err) == (expected.out, expected.code, expected.err)
    assert len(list(tmp_path.glob("script.py.python-*.prof"))) == 1


def test_workers_that_are_terminated_leave_a_file(tmp_path, script, stepscope_run):
    file = script(
        dedent("""\
        import multiprocessing, time
        def busy(ready):
            while True:
                ready.set()
                time.sleep(0.01)
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            ready = context.Event()
            process = context.Process(target=busy, args=(ready,))
            process.start()
            ready.wait()
            process.terminate()
            process.join()
            print(process.exitcode)
        """)
    )
    for options, ending in (["--functions"], ".prof"), (["--calls"], ".calls"):
        got = stepscope_run(*options, "-q", file)
        assert (got.out, got.code) == ("-15\n", 0)
        rows = stepscope.open(tmp_path / f"script.py{ending}").functions()
        assert any(row["name"] == "busy" for row in rows)


MEMORY = dedent("""\
    import multiprocessing, os, subprocess, sys

    def hold(megabytes):
        kept = bytearray(megabytes * 1_000_000)
        return len(kept)

    if __name__ == "__main__":
        way = sys.argv[1]
        if way == "child":
            hold(40)
        elif way == "subprocess":
            subprocess.run([sys.executable, __file__, "child"], check=True)
        elif way == "os.fork":
            child = os.fork()
            if not child:
                hold(40)
                os._exit(5)
            print(os.waitpid(child, 0)[1] >> 8)
        else:
            with multiprocessing.get_context(way).Pool(2) as pool:
                print(pool.map(hold, [10, 40], chunksize=1))
        hold(5)
    """)


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver", "subprocess", "os.fork"])
def test_memory_of_children_is_tracked(way, tmp_path, script, python, stepscope_run):
    file = script(MEMORY)
    expected, got = python(file, way), stepscope_run("--memory=exact", file, way)
    assert (got.out, got.code) == (expected.out, expected.code)
    peaks = {}
    for path in tmp_path.glob("script.py.*-*.mem"):
        rows = [row for row in stepscope.open(path).memory() if row["function"] == "hold"]
        peaks[path.name] = max((row["peak_bytes"] for row in rows), default=0)
    highest = max(peaks, key=lambda name: peaks[name])
    # As many bytes as were asked for, and what a bytearray needs itself.
    assert 40_000_000 < peaks[highest] < 40_001_000
    (note,) = [note for note in got.notes if "recorded too" in note]
    (shown,) = re.findall(r"the highest peak of a child is ([\d.]+) MiB", note)
    assert f"in {highest}" in note and 40_000_000 / 2**20 - 0.1 < float(shown) < 60
    assert not [path for path in tmp_path.glob("*.mem") if path.name.count("-") == 0 and path.name != "script.py.mem"]


def test_memory_of_children_can_be_left_out(tmp_path, script, stepscope_run):
    got = stepscope_run("--memory", "--no-follow", script(MEMORY), "fork")
    assert got.code == 0 and [path.name for path in tmp_path.glob("*.mem")] == ["script.py.mem"]


@pytest.mark.frameworks
def test_workers_of_a_data_loader(tmp_path, script, stepscope_run):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    file = script(
        dedent("""\
        import torch
        class Numbers(torch.utils.data.Dataset):
            def __len__(self):
                return 40
            def __getitem__(self, at):
                return torch.tensor(float(at))
        if __name__ == "__main__":
            loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2)
            print(sum(float(batch.sum()) for batch in loader))
        """)
    )
    got = stepscope_run("--functions", "-q", file)
    assert (got.out, got.code) == ("780.0\n", 0)
    rows = stepscope.open(tmp_path / "script.py.prof").functions()
    assert sum(row["calls"] for row in rows if row["name"] == "__getitem__" and row["line"] == 5) == 40


@pytest.mark.parametrize("mode", ["--functions", "--calls"])
def test_threads_that_start_at_once_all_run(mode, script, stepscope_run):
    """Python 3.11 refuses a thread while another is being armed, and a hook that runs Python there makes that long."""
    program = """\
        import sys, threading

        sys.setswitchinterval(1e-6)
        ran = []

        def start_many():
            for number in range(200):
                thread = threading.Thread(target=ran.append, args=(number,))
                thread.start()
                thread.join()

        threads = [threading.Thread(target=start_many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(len(ran))
        """
    got = stepscope_run(mode, "-q", script(dedent(program)))
    assert (got.out, got.err) == ("800\n", "")
