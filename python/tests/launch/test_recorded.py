"""What ``stepscope run`` records, and what it says at the end."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import signal
import time

import pytest


def events(path):
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
    with opened as file:
        return json.load(file)["traceEvents"]


def names(path):
    return {event.get("name") for event in events(path)}


@pytest.fixture
def traces(tmp_path):
    return lambda folder="profiler_traces": sorted((tmp_path / folder).glob("*.pt.trace.json*"))


WORK = """\
import time
import stepscope

def slow_function():
    end = time.perf_counter() + 0.4
    while time.perf_counter() < end:
        sum(range(100))

with stepscope.record_function("my region"):
    slow_function()
"""


def test_without_a_configuration_the_whole_run_is_recorded(script, stepscope_run, traces):
    got = stepscope_run(script(WORK))
    assert got.code == 0 and got.out == ""
    (trace,) = traces()
    assert got.notes == [
        f"stepscope: profiler_traces/{trace.name}  (open: stepscope view profiler_traces/{trace.name})"
    ]
    found = names(trace)
    assert "my region" in found
    assert any(re.fullmatch(r"script\.py\(\d+\): slow_function", str(name)) for name in found), sorted(map(str, found))
    counters = {event["name"] for event in events(trace) if event.get("ph") == "C"}
    assert any("process" in name for name in counters), counters


def test_stacks_begin_with_the_script(script, stepscope_run, traces):
    stepscope_run(script(WORK))
    (trace,) = traces()
    assert not [name for name in names(trace) if "launch" in str(name) or "run.py" in str(name)]


def test_a_failing_script_keeps_its_exit_code_and_its_trace(script, stepscope_run, traces):
    got = stepscope_run(script(WORK + "raise SystemExit(9)\n"))
    assert got.code == 9
    assert "my region" in names(traces()[0])


def test_the_folder_is_where_the_user_stood(script, stepscope_run, traces, tmp_path):
    file = script("import os\nos.makedirs('elsewhere')\nos.chdir('elsewhere')\n" + WORK)
    got = stepscope_run("-o", "my traces", file)
    (trace,) = traces("my traces")
    assert str(trace) in got.notes[0] and "'" in got.notes[0].split("view ")[1]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_quiet(script, stepscope_run, traces):
    got = stepscope_run("-q", script(WORK + "print(1)\n"))
    assert (got.out, got.err) == ("1\n", "")
    assert len(traces()) == 1


def test_settings_from_a_file_and_the_command_line(script, stepscope_run, traces):
    script("run_dir: runs/one\nprofiling:\n  gzip: false\n", "run.yaml")
    got = stepscope_run("--config", "run.yaml", "--profiling.monitor", "off", script(WORK))
    assert got.code == 0
    (trace,) = traces("runs/one/profiler_traces")
    assert trace.name.endswith(".pt.trace.json")
    assert not [event for event in events(trace) if event.get("ph") == "C" and event["name"].startswith("host.")]


def test_wrong_settings_are_told_before_the_script_runs(script, stepscope_run):
    script("profiling:\n  actve: 2\n", "run.yaml")
    got = stepscope_run("--config", "run.yaml", "--profiling.wait=x", script("print('ran')\n"))
    assert got.code == 2 and got.out == ""
    assert "run.yaml:2: there is no setting 'actve'; did you mean 'active'?" in got.err
    assert "--profiling.wait: wait must be a whole number" in got.err


def test_switched_off_in_the_file(script, stepscope_run, traces):
    script("profiling:\n  enabled: false\n", "run.yaml")
    got = stepscope_run("--config", "run.yaml", script("print('ran')\n"))
    assert (got.code, got.out) == (0, "ran\n")
    assert "profiling is off" in got.err
    assert not traces()


def test_a_schedule_without_steps_records_everything_and_says_so(script, stepscope_run, traces):
    got = stepscope_run("--profiling.wait", "1", "--profiling.active", "2", script(WORK))
    assert len(traces()) == 1
    assert "no steps were found" in got.notes[0]
    assert "my region" in names(traces()[0])


CONFIGURED = """\
import sys
import stepscope
with stepscope.configure({SECTION}, sys.argv) as profiling:
    for step in range(8):
        with stepscope.record_function(f"work {step}"):
            pass
        profiling.step()
print(profiling.enabled, len(profiling.traces))
"""


def test_a_script_that_configures_itself_is_not_recorded_twice(script, stepscope_run, traces):
    section = '{"run_dir": "mine", "profiling": {"wait": 1, "warmup": 1, "active": 2}}'
    got = stepscope_run(script(CONFIGURED.replace("{SECTION}", section)))
    assert got.out == "True 1\n"
    assert not traces()
    (trace,) = traces("mine/profiler_traces")
    assert {name for name in names(trace) if str(name).startswith("work ")} == {"work 2", "work 3"}
    assert any("mine/profiler_traces" in note for note in got.notes)


def test_settings_after_stepscope_run_reach_the_scripts_own_configure(script, stepscope_run, traces):
    got = stepscope_run(
        "--profiling.wait=0", "--profiling.active=1", "-o", "there", script(CONFIGURED.replace("{SECTION}", "{}"))
    )
    assert got.out == "True 1\n"
    (trace,) = traces("there")
    assert {name for name in names(trace) if str(name).startswith("work ")} == {"work 1"}


def test_a_script_without_a_section_marks_steps_in_the_whole_run(script, stepscope_run, traces):
    got = stepscope_run(script(CONFIGURED.replace("{SECTION}", "{}")))
    assert got.out == "False 0\n"
    (trace,) = traces()
    found = names(trace)
    assert {f"work {step}" for step in range(8)} <= found
    # The end of the first step is where the second one begins.
    assert {name for name in found if str(name).startswith("ProfilerStep")} == {f"ProfilerStep#{n}" for n in range(7)}


def test_a_script_with_its_own_profile_is_not_recorded_twice(script, stepscope_run, traces):
    got = stepscope_run(
        script(
            "import stepscope\n"
            "with stepscope.profile() as prof:\n"
            "    with stepscope.record_function('mine'):\n"
            "        pass\n"
            "prof.export_chrome_trace('own.json')\n"
        )
    )
    assert got.code == 0
    assert not traces()
    assert any("profiles itself" in note for note in got.notes)


def test_seconds_ends_the_recording_and_not_the_script(script, stepscope_run, traces):
    got = stepscope_run(
        "--seconds",
        "1.5",
        script(
            "import time, stepscope\n"
            "from stepscope._native import is_recording\n"
            "give_up = time.monotonic() + 60\n"
            "n = 0\n"
            "while is_recording() and time.monotonic() < give_up:\n"
            "    with stepscope.record_function(f'region {n}'):\n"
            "        time.sleep(0.01)\n"
            "    n += 1\n"
            "with stepscope.record_function('after'):\n"
            "    print(n)\n"
        ),
    )
    found = names(traces()[0])
    assert int(got.out) > 3 and "region 3" in found and "after" not in found
    assert any("ended early" in note and "1.5 s" in note for note in got.notes)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_run_leaves_a_readable_file(script, popen, traces, tmp_path):
    process = popen(script(WORK + "print('ready', flush=True)\ntime.sleep(120)\n"), profiled=True)
    assert process.stdout.readline() == "ready\n"
    import stepscope

    # What was seen is written every second or so.
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(stepscope.StepscopeError, OSError, ValueError):
            if traces() and len(stepscope.open(str(traces()[0])).ops(kind="annotations")):
                break
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    process.stdout.close()
    process.stderr.close()
    (left,) = traces()
    assert ".unfinished." in left.name
    assert len(stepscope.open(str(left)).ops(kind="annotations"))


@pytest.mark.parametrize("folder", ["file/inside", "file", "/proc/x"])
def test_a_folder_that_cannot_be_written_is_told_before_the_script_runs(script, stepscope_run, folder):
    script("", "file")
    got = stepscope_run("-o", folder, script("print('ran')\n"))
    assert (got.code, got.out) == (2, "")
    assert "cannot write traces to" in got.err and "-o FOLDER" in got.err and "Traceback" not in got.err


def test_a_script_that_is_over_at_once_leaves_no_trace_and_says_why(script, stepscope_run, tmp_path):
    # However long a busy machine takes for it: the first sample is due after a hundred seconds.
    rarely = "import stepscope._launch.program_capture as capture\ncapture.SAMPLES_HZ = 0.01\n"
    script(rarely, "sites/sitecustomize.py")
    got = stepscope_run("-o", "there", script("import os\nos.environ\n"))
    assert got.code == 0
    (note,) = got.notes
    assert note.startswith("stepscope: no trace: the script ended after ") and "view" not in note
    assert not (tmp_path / "there").exists()


def test_a_region_is_something_to_see_however_short_the_script(script, stepscope_run, traces):
    got = stepscope_run(script("import stepscope\nwith stepscope.record_function('short'):\n    pass\n"))
    assert "open: stepscope view" in got.notes[0]
    assert "short" in names(traces()[0])


def test_a_module_that_is_not_there_leaves_no_trace(python, stepscope_run, tmp_path):
    got = stepscope_run("-m", "nope")
    assert (got.code, got.out) == (1, "") and got.err == python("-m", "nope").err
    assert list(tmp_path.iterdir()) == []


#: One of them waits until it was seen, which is written into a file every second or so; for so many seconds at most.
CHILDREN = """\
import glob, multiprocessing, os, subprocess, sys

def is_seen():
    journals = glob.glob("profiler_traces/*.unfinished.*")
    return any(f"(pid {os.getpid()})" in open(journal, errors="replace").read() for journal in journals)

if __name__ == "__main__":
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            pool.map(abs, [1, -1])
    pid = os.fork()
    if pid == 0:
        give_up = time.monotonic() + float(sys.argv[1])
        while time.monotonic() < give_up and not is_seen():
            time.sleep(0.05)
        os._exit(0)
    os.waitpid(pid, 0)
    subprocess.run([sys.executable, "-c", "pass"])
    subprocess.run(["true"])
"""


@pytest.mark.skipif(os.name != "posix", reason="forks")
def test_child_processes_are_counted_in_one_line(script, stepscope_run):
    got = stepscope_run(script(WORK + CHILDREN), "60")
    assert got.code == 0 and got.own_err == ""
    (note,) = [note for note in got.notes if "child" in note]
    found = re.fullmatch(r"stepscope: (\d) child process.* sampled too: [^;]*(?:; (\d) more ended before .*)?", note)
    assert found is not None and int(found[1]) + int(found[2] or 0) == 6, note
    got = stepscope_run("--no-follow", script(WORK + CHILDREN), "0")
    assert [note for note in got.notes if "child" in note] == ["stepscope: 6 child processes were not recorded"]


def test_epochs_count_if_the_script_tells_of_nothing_else(script, stepscope_run, traces):
    got = stepscope_run(
        "--profiling.wait=0",
        "--profiling.warmup=1",
        "--profiling.active=1",
        script(CONFIGURED.replace("{SECTION}", "{}").replace("profiling.step()", "profiling.epoch()")),
    )
    assert got.out == "True 1\n"
    assert {name for name in names(traces()[0]) if str(name).startswith("work ")} == {"work 1"}
