"""The profiler without PyTorch: what a program that uses it sees and gets."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import time
import warnings

import pytest

import stepscope
from stepscope import StepscopeError, StepscopeWarning, _native
from stepscope.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)

pytestmark = pytest.mark.usefixtures("without_torch")


def quiet_profile(**options):
    return profile(monitor=False, **options)


def names(found):
    return [event["name"] for event in found]


def test_everything_is_recorded_from_start_to_stop(tmp_path, slices):
    with record_function("before"):
        pass
    with quiet_profile() as prof:
        with record_function("outer"):
            with record_function("inner"):
                time.sleep(0.002)
    with record_function("after"):
        pass
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    outer, inner = slices(tmp_path / "t.json")
    assert names([outer, inner]) == ["outer", "inner"]
    assert float(outer["dur"]) >= float(inner["dur"]) >= 2000
    assert outer["pid"] == os.getpid()


def test_steps_are_marked_without_a_schedule(tmp_path, slices):
    with quiet_profile() as prof:
        for _ in range(3):
            time.sleep(0.001)
            prof.step()
    prof.export_chrome_trace(tmp_path / "t.json")
    found = slices(tmp_path / "t.json")
    assert names(found) == ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"]
    assert all(float(step["dur"]) >= 1000 for step in found)
    assert prof.step_num == 3


def test_a_trace_without_steps_is_valid(tmp_path, read_trace):
    with quiet_profile() as prof:
        pass
    prof.export_chrome_trace(tmp_path / "t.json.gz")
    assert read_trace(tmp_path / "t.json.gz")["traceEvents"] is not None
    assert prof.key_averages() == []
    assert prof.events() == []
    assert prof.key_averages().table(sort_by="cpu_time_total") == ""


def test_a_schedule_writes_one_file_a_cycle_with_its_steps(tmp_path, slices):
    seen = []

    def handler(prof):
        seen.append((prof.step_num, prof.current_action))
        prof.export_chrome_trace(tmp_path / f"{prof.step_num}.json")

    with quiet_profile(schedule=schedule(wait=1, warmup=1, active=3, repeat=2), on_trace_ready=handler) as prof:
        actions = []
        for _ in range(13):
            actions.append(prof.current_action.name)
            prof.step()
    assert actions[:6] == ["NONE", "WARMUP", "RECORD", "RECORD", "RECORD_AND_SAVE", "NONE"]
    assert seen == [(5, ProfilerAction.NONE), (10, ProfilerAction.NONE)]
    assert names(slices(tmp_path / "5.json")) == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    assert names(slices(tmp_path / "10.json")) == ["ProfilerStep#7", "ProfilerStep#8", "ProfilerStep#9"]


def test_cycles_that_follow_without_a_pause(tmp_path, slices):
    count = 0

    def handler(prof):
        nonlocal count
        prof.export_chrome_trace(tmp_path / f"{count}.json")
        count += 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = schedule(wait=0, warmup=0, active=2)
    with quiet_profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(5):
            prof.step()
    found = [names(slices(tmp_path / f"{number}.json")) for number in range(count)]
    # The last one holds what was begun when the program ended, as PyTorch's does.
    assert found == [
        ["ProfilerStep#0", "ProfilerStep#1"],
        ["ProfilerStep#2", "ProfilerStep#3"],
        ["ProfilerStep#4", "ProfilerStep#5"],
    ]


def test_ending_in_a_warm_up_keeps_the_last_cycle(tmp_path):
    calls = []
    with quiet_profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=calls.append) as prof:
        for _ in range(2):
            with record_function("work"):
                pass
            prof.step()
    assert len(calls) == 1
    assert {event.key for event in prof.key_averages()} == {"ProfilerStep*", "work"}


def test_the_handler_writes_names_as_torchs_does(tmp_path):
    with quiet_profile(on_trace_ready=tensorboard_trace_handler(tmp_path / "a" / "b", use_gzip=True)):
        pass
    with quiet_profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path), "rank0")):
        pass
    (first,) = (tmp_path / "a" / "b").iterdir()
    worker, stamp, rest = first.name.split(".", 2)
    assert worker.endswith(f"_{os.getpid()}") and rest == "pt.trace.json.gz"
    assert abs(int(stamp) - time.time_ns()) < 60e9
    (second,) = tmp_path.glob("rank0.*.pt.trace.json")
    assert second.stat().st_size > 0


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_exceptions_pass_unchanged_and_the_trace_is_saved(tmp_path, error):
    with pytest.raises(type(error)) as caught:
        with quiet_profile(on_trace_ready=tensorboard_trace_handler(tmp_path)):
            with record_function("work"):
                raise error
    assert caught.value is error
    assert len(list(tmp_path.iterdir())) == 1


def test_a_failing_handler_is_a_warning(tmp_path):
    def handler(prof):
        raise RuntimeError("no network")

    done = []
    with pytest.warns(StepscopeWarning, match="no network"):
        with quiet_profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=handler) as prof:
            for step in range(4):
                done.append(step)
                prof.step()
    assert done == [0, 1, 2, 3]


def test_an_exception_in_the_block_wins_over_a_failing_handler():
    def handler(prof):
        raise RuntimeError("no network")

    with pytest.warns(StepscopeWarning, match="no network"), pytest.raises(KeyError, match="mine"):
        with quiet_profile(on_trace_ready=handler):
            raise KeyError("mine")


def test_start_and_stop_by_hand_and_again(tmp_path, slices):
    prof = quiet_profile()
    for name in ("first", "second"):
        prof.start()
        with record_function(name):
            pass
        prof.stop()
        prof.export_chrome_trace(tmp_path / f"{name}.json")
        assert names(slices(tmp_path / f"{name}.json")) == [name]
    prof.stop()
    with pytest.warns(StepscopeWarning, match="not running"):
        prof.step()
    prof.start()
    with pytest.warns(StepscopeWarning, match="already running"):
        prof.start()
    prof.stop()


def test_two_profilers_at_once_both_record(tmp_path, slices):
    with quiet_profile() as outer:
        with record_function("only outer"):
            pass
        with quiet_profile() as inner:
            with record_function("both"):
                pass
    outer.export_chrome_trace(tmp_path / "outer.json")
    inner.export_chrome_trace(tmp_path / "inner.json")
    assert names(slices(tmp_path / "outer.json")) == ["only outer", "both"]
    assert names(slices(tmp_path / "inner.json")) == ["both"]


def test_asking_too_early_says_so():
    prof = quiet_profile()
    with pytest.raises(StepscopeError, match="nothing has been recorded"):
        prof.key_averages()
    with prof:
        with pytest.raises(StepscopeError, match="still recording"):
            prof.export_chrome_trace("t.json")


def test_averages_have_calls_and_times():
    with quiet_profile() as prof:
        for _ in range(4):
            with record_function("outer"):
                with record_function("inner"):
                    time.sleep(0.002)
                time.sleep(0.001)
    by_name = {event.key: event for event in prof.key_averages()}
    outer, inner = by_name["outer"], by_name["inner"]
    assert outer.count == inner.count == 4
    assert outer.cpu_time_total >= inner.cpu_time_total + 4000
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total)
    assert inner.cpu_time == pytest.approx(inner.cpu_time_total / 4) and inner.cpu_time >= 2000
    assert sum(event.cuda_time for event in prof.key_averages()) == 0


def test_top_level_events():
    with quiet_profile() as prof:
        with record_function("outer"):
            with record_function("nested"):
                pass
    table = prof.key_averages().table(top_level_events_only=True)
    assert "outer" in table and "nested" not in table
    outer, nested = sorted(prof.events(), key=lambda event: event.time_range.start)
    assert nested.cpu_parent is outer
    assert {event.key for event in prof.events().key_averages()} == {"outer", "nested"}


def test_decorators_give_the_same_results():
    @record_function("add")
    def add(a, b=1):
        return a + b

    @record_function("fail")
    def fail():
        raise LookupError("mine")

    with quiet_profile() as prof:
        assert add(2) == 3 and add(2, b=5) == 7
        with pytest.raises(LookupError, match="mine"):
            fail()
    assert add.__name__ == "add"
    assert {event.key: event.count for event in prof.key_averages()} == {"add": 2, "fail": 1}


def test_regions_of_tasks_that_take_turns():
    @record_function("decorated")
    async def work(delay):
        with record_function(f"task {delay}"):
            await asyncio.sleep(delay / 1000)
        return delay

    async def main():
        return await asyncio.gather(work(20), work(10), work(30))

    with quiet_profile() as prof:
        assert asyncio.run(main()) == [20, 10, 30]
    by_name = {event.key: event for event in prof.key_averages()}
    assert by_name["decorated"].count == 3
    times_us = [by_name[f"task {delay}"].cpu_time_total for delay in (10, 20, 30)]
    assert all(delay * 1000 <= time_us for delay, time_us in zip((10, 20, 30), times_us))


def test_activities_of_devices_warn_without_torch():
    with pytest.warns(StepscopeWarning, match="CUDA is recorded by PyTorch"):
        with quiet_profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
            with record_function("work"):
                pass
    assert "work" in prof.key_averages().table(sort_by="cuda_time_total", row_limit=10)


@pytest.mark.parametrize(
    "key",
    ["cuda_time_total", "cpu_time_total", "self_cuda_time_total", "self_cuda_memory_usage", "self_cpu_time_total"],
)
def test_tables_sorted_as_guides_do(key):
    with quiet_profile(profile_memory=True) as prof:
        with record_function("work"):
            pass
    assert "work" in prof.key_averages().table(sort_by=key, row_limit=10)
    assert "work" in prof.key_averages(group_by_input_shape=True).table(sort_by=key)
    assert "work" in prof.key_averages(group_by_stack_n=5).table(sort_by=key)


def test_stacks_are_folded(tmp_path):
    with quiet_profile() as prof:
        with record_function("outer step"):
            with record_function("inner"):
                time.sleep(0.003)
    prof.export_stacks(tmp_path / "stacks.txt")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    stack, value = next(line for line in lines if line.split()[0].endswith(";inner")).split()
    assert stack.endswith(";outer_step;inner") and int(value) >= 3000
    prof.export_stacks(str(tmp_path / "device.txt"), "self_cuda_time_total")
    assert (tmp_path / "device.txt").read_text() == ""
    with pytest.raises(StepscopeError, match="no stacks by 'time'"):
        prof.export_stacks(tmp_path / "x.txt", "time")


def test_metadata_is_in_the_file(tmp_path, read_trace, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    prof = quiet_profile()
    prof.preset_metadata_json("preset", '{"a": 1}')
    with prof:
        prof.add_metadata("text", 'he said "so"')
        prof.add_metadata_json("list", "[1, 2]")
    prof.export_chrome_trace(tmp_path / "t.json")
    document = read_trace(tmp_path / "t.json")
    assert document["preset"] == {"a": 1}
    assert document["text"] == 'he said "so"'
    assert document["list"] == [1, 2]
    assert document["distributedInfo"] == {"rank": 3, "world_size": 8}
    assert document["stepscope_recorder"] == "profile"
    with pytest.raises(StepscopeError, match="not JSON"):
        prof.add_metadata_json("broken", "{")


def test_what_only_torch_can_is_said():
    with quiet_profile() as prof:
        with pytest.warns(StepscopeWarning, match="toggle_collection_dynamic"):
            prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    with pytest.raises(StepscopeError, match="memory timeline") as caught:
        prof.export_memory_timeline("memory.json")
    assert "counters" in caught.value.hint
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = prof.no_such_thing


def test_counters_of_the_machine_are_in_the_trace(tmp_path, read_trace):
    with profile(monitor=0.02) as prof:
        began_ns, give_up = _native.now_ns(), time.monotonic() + 60
        # Whenever a busy machine lets it look, and look again.
        while not prof._recorder._monitor.series("host.cpu_percent", began_ns)[0] and time.monotonic() < give_up:
            time.sleep(0.01)
    prof.export_chrome_trace(tmp_path / "t.json")
    counters = {e["name"] for e in read_trace(tmp_path / "t.json")["traceEvents"] if e.get("ph") == "C"}
    assert any("cpu" in name.lower() for name in counters)
    assert any("memory" in name.lower() for name in counters)


def test_a_shared_monitor_goes_on_as_it_was(tmp_path):
    from stepscope._native import Monitor

    monitor = Monitor(0.05)
    monitor.start()
    with profile(monitor=monitor):
        assert monitor.running
    assert monitor.running
    monitor.stop()
    assert not monitor.running
    with profile(monitor=monitor, schedule=schedule(wait=1, warmup=1, active=1, repeat=1)) as prof:
        running = []
        for _ in range(4):
            running.append(monitor.running)
            prof.step()
    assert running == [False, True, True, False]


def test_sensors_are_looked_for_once(monkeypatch):
    from stepscope import _monitors
    from stepscope.profiler import recorder

    monkeypatch.setattr(_monitors, "_shared", {})
    first, again, other = (recorder.Recorder(choice, None, 0.0) for choice in (True, True, 0.5))
    for each in (first, again, other):
        each.prepare()
    assert first._monitor is again._monitor and first._monitor is not other._monitor
    assert first._monitor.running
    first.rest()
    assert first._monitor.running
    again.rest()
    assert not first._monitor.running
    other.rest()


@pytest.mark.parametrize("wrong", ["yes", -1, 0.0])
def test_unknown_monitors_are_refused(wrong):
    with pytest.raises(StepscopeError, match="monitor cannot be"):
        profile(monitor=wrong)


def test_wrong_numbers_of_samples_are_refused():
    with pytest.raises(StepscopeError, match="samples=-5"):
        profile(samples=-5)


def test_a_mistyped_argument_is_an_error():
    with pytest.raises(TypeError, match="'record_shape'. Did you mean 'record_shapes'"):
        profile(record_shape=True)


def test_the_trace_answers_questions():
    with quiet_profile() as prof:
        for _ in range(6):
            with record_function("work"):
                time.sleep(0.001)
            prof.step()
    assert isinstance(prof.trace(), stepscope.Trace)
    assert isinstance(prof.summary(), str) and prof.summary()
    assert prof.findings() is not None


def test_a_killed_process_leaves_its_journal(tmp_path):
    journal = tmp_path / "journal.json"
    program = f"""
        import os, pathlib, signal, time
        from stepscope.profiler import profile, record_function
        journal, give_up = pathlib.Path({str(journal)!r}), time.monotonic() + 60
        with profile(monitor=False, journal=journal):
            # It is written every second or so.
            while journal.read_text().count('"work"') < 10 and time.monotonic() < give_up:
                with record_function("work"):
                    time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], timeout=120)
    assert result.returncode == -9
    assert journal.read_text().count('"work"') >= 10


def test_a_journal_that_cannot_be_written_is_a_warning(tmp_path):
    with pytest.warns(StepscopeWarning, match="no journal"):
        with quiet_profile(journal=tmp_path / "absent" / "j.json") as prof:
            with record_function("work"):
                pass
    assert [event.key for event in prof.key_averages()] == ["work"]


def test_exit_codes_and_output_stay_as_they_are():
    program = """
        import sys
        from stepscope.profiler import profile
        with profile(with_stack=True):
            print("result", 6 * 7)
            sys.exit(5)
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stdout, result.stderr) == (5, "result 42\n", "")
