"""A disk that is full when a trace is written: the program goes on, and nothing half-written is left.

A file-size limit plays the full disk. It makes a real write fail midway, in our code and in PyTorch's.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import stepscope

PACKAGE = str(pathlib.Path(stepscope.__file__).parents[1])

PROGRAM = """
    import os, resource, sys, tempfile, warnings
    # What is imported while there is no room would be cut short for every later program.
    sys.dont_write_bytecode = True
    warnings.simplefilter("always")
    uses_torch, out = sys.argv[1] == "torch", sys.argv[2]
    if uses_torch:
        import torch
    import stepscope
    from stepscope import StepscopeError, profile, record_function, schedule, tensorboard_trace_handler

    tempfile.tempdir = os.path.join(out, "temporary")
    os.mkdir(tempfile.tempdir)

    def disk(most_bytes):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))

    def full():
        disk(4096)

    def free():
        disk(resource.RLIM_INFINITY)

    def work():
        for number in range(2000):
            with record_function(f"region {number}"):
                if uses_torch and number % 20 == 0:
                    torch.ones(3) + 1

    def recorded(**options):
        with profile(monitor=False, **options) as prof:
            work()
            prof.step()
        return prof

    def refused(do):
        try:
            do()
        except StepscopeError as error:
            print(f"refused: {error.message} | {error.hint}")
        else:
            print("written")

    def left():
        return sorted(name for _, _, names in os.walk(out) for name in names)
"""


def run(torch: bool, body: str, out: pathlib.Path) -> tuple[list[str], str]:
    if torch and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    program = textwrap.dedent(PROGRAM) + textwrap.dedent(body)
    words = [sys.executable, "-c", program, "torch" if torch else "plain", str(out)]
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines(), done.stderr


both = pytest.mark.parametrize(
    "torch",
    [pytest.param(False, id="without torch"), pytest.param(True, id="with torch", marks=pytest.mark.frameworks)],
)


@both
def test_an_export_is_refused_with_words_and_works_once_there_is_room(torch, tmp_path):
    lines, _ = run(
        torch,
        """
        prof = recorded()
        full()
        refused(lambda: prof.export_chrome_trace(os.path.join(out, "a.json")))
        refused(lambda: prof.export_chrome_trace(os.path.join(out, "a.json.gz")))
        refused(lambda: prof.export_stacks(os.path.join(out, "stacks.txt")))
        print(left())
        free()
        if not uses_torch or "use_python_export" in torch.profiler.profile.export_chrome_trace.__code__.co_varnames:
            refused(lambda: prof.export_chrome_trace(os.path.join(out, "a.json")))
            full()
            refused(lambda: prof.export_chrome_trace(os.path.join(out, "b.json")))
            print(left())
        """,
        tmp_path,
    )
    assert lines[0].startswith(f"refused: cannot write the trace to {tmp_path / 'a.json'}: ")
    assert lines[1].startswith(f"refused: cannot write the trace to {tmp_path / 'a.json.gz'}: ")
    for line in lines[:3]:
        assert line.startswith("refused: ") and "os error" not in line
        hint = line.split(" | ")[1]
        assert "disk is full" in hint or "disk full" in hint or "files that large" in hint or "TMPDIR" in hint
    assert lines[3] == "[]"
    if len(lines) > 4:
        assert lines[4] == "written"
        assert lines[5].startswith(f"refused: cannot write the trace to {tmp_path / 'b.json'}: ")
        # Questions were answered from a temporary file, which goes with the profiler.
        assert "a.json" in lines[6] and "b.json" not in lines[6] and "part" not in lines[6]
        names = {event.get("name") for event in json.loads((tmp_path / "a.json").read_text())["traceEvents"]}
        assert "region 1999" in names and (not torch or "aten::ones" in names)
    assert not list((tmp_path / "temporary").glob("stepscope-*"))


@both
def test_training_goes_on_when_handlers_cannot_write(torch, tmp_path):
    lines, errors = run(
        torch,
        """
        full()
        recorded(on_trace_ready=tensorboard_trace_handler(os.path.join(out, "logs")))
        print("handler", left())
        recorded(on_trace_ready=tensorboard_trace_handler(os.path.join(out, "logs"), use_gzip=True))
        print("compressed", left())
        recorded(on_trace_ready=lambda prof: prof.export_chrome_trace(os.path.join(out, "own.json")))
        print("own", left())
        with profile(
            monitor=False,
            schedule=schedule(wait=0, warmup=1, active=1, repeat=2),
            on_trace_ready=tensorboard_trace_handler(os.path.join(out, "logs")),
        ) as prof:
            for _ in range(4):
                work()
                prof.step()
        print("schedule", left())
        """,
        tmp_path,
    )
    assert lines == ["handler []", "compressed []", "own []", "schedule []"]
    assert errors.count("StepscopeWarning: no trace was written to") == 4
    assert errors.count("StepscopeWarning: on_trace_ready failed") == 1
    assert errors.count("hint: ") == 5
    assert "Traceback" not in errors


@pytest.mark.frameworks
def test_a_second_failure_with_torch_still_teaches(tmp_path):
    lines, _ = run(
        True,
        """
        from stepscope.profiler import saving
        saving._SECOND_WAY = "not in this version"
        prof = recorded()
        full()
        refused(lambda: prof.export_chrome_trace(os.path.join(out, "a.json")))
        free()
        refused(lambda: prof.export_chrome_trace(os.path.join(out, "a.json")))
        print(len(prof.key_averages()) > 2000, left())
        """,
        tmp_path,
    )
    assert "PyTorch could not write its part" in lines[0]
    assert "writes a trace only once" in lines[1] and "record again" in lines[1]
    assert lines[2] == "True []"


@pytest.mark.frameworks
def test_room_for_pytorchs_part_but_not_for_the_whole(tmp_path):
    lines, _ = run(
        True,
        """
        prof = recorded(samples=1000)
        prof._recorder.finished.recording.slice("large " + "x" * 3_000_000, 0, 1)
        disk(3_000_000)
        refused(lambda: prof.export_chrome_trace(os.path.join(out, "a.json")))
        refused(lambda: prof.export_chrome_trace(os.path.join(out, "a.json")))
        print([name for name in left() if not name.startswith(".a.json")])
        free()
        refused(lambda: prof.export_chrome_trace(os.path.join(out, "a.json")))
        print(left())
        """,
        tmp_path,
    )
    assert [line.split(":")[0] for line in lines] == ["refused", "refused", "[]", "written", "['a.json']"]
    assert "files that large" in lines[0]


@both
def test_questions_in_a_full_temporary_folder(torch, tmp_path):
    lines, _ = run(
        torch,
        """
        prof = recorded()
        full()
        refused(prof.summary)
        print(len(prof.key_averages()) >= 2001, len(prof.events()) >= 2001)
        """,
        tmp_path,
    )
    assert all("temporary" in line for line in lines[:-1])
    assert all("TMPDIR" in line or torch for line in lines[:-1])
    assert lines[-1] == "True True"


@both
@pytest.mark.parametrize("schedule", [[], ["--profiling.wait=0", "--profiling.warmup=1", "--profiling.active=1"]])
def test_stepscope_run_keeps_result_and_exit_code(torch, schedule, tmp_path):
    if torch and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    (tmp_path / "out").mkdir()
    (tmp_path / "train.py").write_text(
        textwrap.dedent(
            f"""
            import sys
            if {torch}:
                import torch
                model = torch.nn.Linear(4, 4)
                optimizer = torch.optim.SGD(model.parameters())
            from stepscope import record_function
            for number in range(2000):
                with record_function(f"region {{number}}"):
                    if {torch} and number % 50 == 0:
                        model(torch.ones(4)).sum().backward()
                        optimizer.step()
            print("result 42")
            sys.exit(3)
            """
        )
    )
    limited = (
        "import resource, sys; sys.dont_write_bytecode = True; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "from stepscope import _native; from stepscope.__main__ import main; sys.exit(main())"
    )
    words = [sys.executable, "-c", limited, "run", "-o", str(tmp_path / "out"), *schedule, str(tmp_path / "train.py")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": PACKAGE})
    assert (done.returncode, done.stdout) == (3, "result 42\n"), done.stderr
    assert "cannot write the trace to" in done.stderr and "hint: " in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "out").rglob("*")) == []


@both
def test_configure_goes_on(torch, tmp_path):
    lines, errors = run(
        torch,
        """
        with open(os.path.join(out, "run.json"), "w") as file:
            file.write('{"profiling": {"wait": 0, "warmup": 1, "active": 1}}')
        full()
        with stepscope.configure(os.path.join(out, "run.json"), run_dir=out) as profiling:
            for _ in range(3):
                work()
                profiling.step()
        print("trained", left())
        """,
        tmp_path,
    )
    assert lines == ["trained ['run.json']"]
    assert "StepscopeWarning" in errors and "hint: " in errors


def test_the_metrics_of_regions_are_written_whole_or_not_at_all(tmp_path):
    lines, _ = run(
        False,
        """
        measure = stepscope.PerformanceProfiler()
        for number in range(100):
            with measure.profile(f"region {number}"):
                pass
        path = measure.export(os.path.join(out, "metrics.json"))
        before = os.path.getsize(path)
        full()
        try:
            measure.export(path)
        except (OSError, StepscopeError) as error:
            print("refused")
        print(left(), os.path.getsize(path) == before)
        """,
        tmp_path,
    )
    assert lines == ["refused", "['metrics.json'] True"]
