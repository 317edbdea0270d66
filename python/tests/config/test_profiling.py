"""The object that ``configure`` returns, at work: traces, units, failures, and the cost of being off."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import warnings

import pytest

import stepscope
from stepscope.config import configure
from stepscope.errors import StepscopeWarning


def names(path):
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
    with opened as file:
        return {event.get("name") for event in json.load(file)["traceEvents"]}


def loop(profiling, epochs=6, batches=2):
    with profiling:
        for epoch in range(epochs):
            for batch in range(batches):
                with stepscope.record_function(f"work {epoch}.{batch}"):
                    pass
                profiling.step()
            profiling.epoch()
    return profiling


def worked(path):
    return sorted(name[5:] for name in names(path) if str(name).startswith("work "))


def test_steps(tmp_path):
    profiling = loop(configure({"profiling": {"wait": 1, "warmup": 1, "active": 3}}, run_dir=tmp_path))
    (trace,) = profiling.traces
    assert trace.parent == tmp_path / "profiler_traces"
    assert re.fullmatch(r".+_\d+\.\d{19}\.pt\.trace\.json\.gz", trace.name)
    assert list(trace.parent.iterdir()) == [trace]
    assert worked(trace) == ["1.0", "1.1", "2.0"]
    assert {"ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"} <= names(trace)


def test_epochs(tmp_path):
    config = {"profiling": {"wait": 1, "warmup": 1, "active": 2, "unit": "epochs", "gzip": False}}
    (trace,) = loop(configure(config, run_dir=tmp_path)).traces
    assert trace.name.endswith(".pt.trace.json")
    assert worked(trace) == ["2.0", "2.1", "3.0", "3.1"]


def test_repeat_and_skip_first(tmp_path):
    config = {"profiling": {"skip_first": 1, "wait": 0, "warmup": 1, "active": 1, "repeat": 2}}
    traces = loop(configure(config, run_dir=tmp_path)).traces
    assert [worked(trace) for trace in traces] == [["1.0"], ["2.0"]]
    assert len(set(traces)) == 2


def test_a_trace_that_is_cut_short_is_written(tmp_path):
    config = {"profiling": {"wait": 0, "warmup": 1, "active": 100}}
    (trace,) = loop(configure(config, run_dir=tmp_path), epochs=2).traces
    assert "1.1" in worked(trace)


def test_the_loops_exception_passes_and_the_trace_is_kept(tmp_path):
    profiling = configure({"profiling": {"wait": 0, "warmup": 1, "active": 9}}, run_dir=tmp_path)
    with pytest.raises(ZeroDivisionError):
        with profiling:
            profiling.step()
            with stepscope.record_function("work"):
                pass
            1 / 0
    assert "work" in names(profiling.traces[0])


def test_start_and_stop_without_with(tmp_path):
    profiling = configure({"profiling": {"wait": 0, "warmup": 1, "active": 1}}, run_dir=tmp_path)
    profiling.start()
    profiling.start()
    profiling.step()
    profiling.step()
    profiling.stop()
    profiling.stop()
    assert len(profiling.traces) == 1
    profiling.step()


def test_a_loop_outside_of_with_is_told_once(tmp_path):
    profiling = configure({"profiling": {}}, run_dir=tmp_path)
    with pytest.warns(StepscopeWarning, match="not started"):
        profiling.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profiling.step()


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    config = {"profiling": {"wait": 0, "warmup": 1, "active": 1, "output": str(tmp_path / "file" / "traces")}}
    with pytest.warns(StepscopeWarning, match="file"):
        profiling = loop(configure(config))
    assert profiling.traces == []


def test_settings_reach_the_profiler(tmp_path):
    config = {"profiling": {"record_shapes": True, "with_stack": True, "activities": ["cpu"], "monitor": False}}
    profiling = configure(config, run_dir=tmp_path)
    with profiling:
        profile = profiling.profile
        assert isinstance(profile, stepscope.profile)
        assert (profile.record_shapes, profile.with_stack, profile.profile_memory) == (True, True, False)
        assert [activity.name for activity in profile.activities] == ["CPU"]


def test_off_costs_next_to_nothing_and_touches_nothing(tmp_path):
    profiling = configure({"lr": 1}, run_dir=tmp_path)
    # The processor's time of this thread: what others take from it does not count.
    begin = time.thread_time()
    with profiling:
        for _ in range(100_000):
            profiling.step()
            profiling.epoch()
    assert time.thread_time() - begin < 0.5  # 5 µs for two calls; about 0.1 µs is usual
    assert profiling.profile is None and not profiling
    assert list(tmp_path.iterdir()) == []


def test_configuring_without_a_section_imports_nothing_heavy():
    import subprocess
    import sys
    from pathlib import Path

    code = (
        "import sys, time\n"
        "from stepscope.config import configure\n"
        "with configure({'lr': 1}) as p: p.step()\n"
        "print([m for m in ('torch', 'yaml', 'stepscope.profiler') if m in sys.modules])\n"
    )
    parent = str(Path(stepscope.__file__).resolve().parent.parent)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": parent})
    assert done.stdout == "[]\n", done.stderr


def warned(profiling, run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with profiling:
            run(profiling)
    return [str(warning.message) for warning in caught if warning.category is StepscopeWarning]


def test_a_program_that_never_says_anything_is_told(tmp_path):
    profiling = configure({"profiling": {}}, run_dir=tmp_path)
    (message,) = warned(profiling, lambda profiling: None)
    assert message == (
        "profiling was configured, but there is no trace: profiling.step() was never called, so the schedule never "
        "began"
    )


def test_a_program_that_tells_of_what_does_not_count_is_told(tmp_path):
    profiling = configure({"profiling": {"unit": "steps"}}, run_dir=tmp_path)
    (message,) = warned(profiling, lambda profiling: [profiling.epoch() for _ in range(10)])
    assert "profiling.step() was never called and profiling.epoch() does not count with unit: steps" in message


def test_a_program_that_ends_before_the_schedule_records_is_told(tmp_path):
    profiling = configure({"profiling": {"skip_first": 2, "wait": 5, "warmup": 1}}, run_dir=tmp_path)
    (message,) = warned(profiling, lambda profiling: [profiling.step() for _ in range(3)])
    assert "ended after 3 steps, and the schedule records from step 9 on" in message


def test_nothing_is_said_of_a_program_that_failed_or_has_its_trace(tmp_path):
    profiling = configure({"profiling": {}}, run_dir=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError):
            with profiling:
                1 / 0
        loop(configure({"profiling": {"warmup": 1}}, run_dir=tmp_path))


def test_epochs_count_for_a_loop_that_tells_of_nothing_else(tmp_path):
    profiling = configure({"profiling": {"wait": 1, "warmup": 1, "active": 2}}, run_dir=tmp_path)
    with profiling:
        for epoch in range(6):
            with stepscope.record_function(f"work {epoch}"):
                pass
            profiling.epoch()
    (trace,) = profiling.traces
    assert worked(trace) == ["2", "3"]


def test_a_program_that_never_starts_it_is_told_at_its_end(tmp_path):
    program = (
        "import stepscope\n"
        "stepscope.configure({'profiling': {}})\n"
        "stepscope.configure({'profiling': {'active': 2}})\n"
        "stepscope.configure({'profiling': {'enabled': False}})\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(stepscope.__file__).parents[1])}
    run = lambda text: subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment)
    done = run(program)
    assert done.returncode == 0 and done.stderr.count("profiling was configured but not started") == 1
    assert len(done.stderr.splitlines()) == 1
    assert run(program.splitlines()[0] + "\n" + program.splitlines()[3]).stderr == ""
    # What a callback of a framework checks beforehand is started later, or not at all.
    assert run("from stepscope.integrations._session import checked\nchecked({'active': 2})\n").stderr == ""
