"""Regions by the Python stack they were entered from, and stacks for flame graphs, where PyTorch does not record."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time

import pytest

from stepscope import _native
from stepscope.profiler import profile, record_function, region_stacks

pytestmark = pytest.mark.usefixtures("without_torch")


def load():
    with record_function("work"):
        pass


def load_between():
    with record_function("other"):
        load()


def train(inside=None):
    with record_function("work"):
        if inside is not None:
            inside()


def names(stack):
    return [frame.rsplit(": ", 1)[1] for frame in stack]


def rows(averages):
    return {(row.key, *names(row.stack)): row.count for row in averages}


def test_regions_of_one_name_are_told_apart_by_their_callers():
    with profile(monitor=False, with_stack=True) as prof:
        for _ in range(3):
            load()
        train(inside=load_between)
    here = "test_regions_of_one_name_are_told_apart_by_their_callers"
    assert rows(prof.key_averages(group_by_stack_n=1)) == {
        ("work", "load"): 4,
        ("work", "train"): 1,
        ("other", "load_between"): 1,
    }
    assert rows(prof.key_averages(group_by_stack_n=2)) == {
        ("work", "load", here): 3,
        ("work", "train", here): 1,
        ("work", "load", "load_between"): 1,
        ("other", "load_between", "train"): 1,
    }
    assert rows(prof.key_averages()) == {("work",): 5, ("other",): 1}
    assert rows(prof.events().key_averages(group_by_stack_n=1)) == rows(prof.key_averages(group_by_stack_n=1))


def test_frames_are_innermost_first_and_named_as_samples_are():
    with profile(monitor=False, with_stack=True) as prof:
        train(inside=load_between)
    of_load = next(event for event in prof.events() if event.cpu_parent is not None and event.name == "work")
    first, _, second, third = of_load.stack[:4]
    line = load.__code__.co_firstlineno
    assert first.endswith(f"test_region_stacks.py({line}): load")
    assert second.endswith(": train") and third.endswith(": test_frames_are_innermost_first_and_named_as_samples_are")
    assert not any(frame.startswith(os.path.join("stepscope", "profiler")) for frame in of_load.stack)


def test_times_are_those_of_the_rows_without_stacks():
    with profile(monitor=False, with_stack=True) as prof:
        for _ in range(20):
            train(inside=load)
            train(inside=load_between)
            prof.step()
    whole = {row.key: row for row in prof.key_averages()}
    parts = prof.key_averages(group_by_stack_n=1)
    assert set(whole) == {"work", "other", "ProfilerStep*"}
    # A region that is all there is in another of the same name counts as one with it, as PyTorch has it.
    assert (whole["work"].count, whole["other"].count) == (60, 20)
    for key, row in whole.items():
        of_key = [part for part in parts if part.key == key]
        assert sum(part.count for part in of_key) == row.count
        assert sum(part.cpu_time_total for part in of_key) == pytest.approx(row.cpu_time_total, abs=0.1)
        assert sum(part.self_cpu_time_total for part in of_key) == pytest.approx(row.self_cpu_time_total, abs=0.1)


def test_the_table_shows_the_frames():
    with profile(monitor=False, with_stack=True) as prof:
        load()
    averages = prof.key_averages(group_by_stack_n=2)
    text = averages.table(sort_by="cpu_time_total")
    assert "Source Location" in text and ": load" in text
    assert "work" in averages.table(top_level_events_only=True)


def test_without_with_stack_there_are_no_stacks():
    with profile(monitor=False, samples=100) as prof:
        load()
    assert rows(prof.key_averages(group_by_stack_n=5)) == {("work",): 1}
    assert prof.events()[0].stack == []


def test_decorated_functions_have_their_callers_not_the_decorator():
    @record_function("decorated")
    def decorated():
        load()

    with profile(monitor=False, with_stack=True) as prof:
        decorated()
    found = rows(prof.key_averages(group_by_stack_n=2))
    here = "test_decorated_functions_have_their_callers_not_the_decorator"
    outer = next(key for key in found if key[0] == "decorated")
    assert outer[1] == here
    assert ("work", "load", "decorated") in found


@pytest.fixture
def restless():
    """The interpreter goes from thread to thread all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_threads_have_stacks_of_their_own():
    def worker():
        for _ in range(500):
            load()

    with profile(monitor=False, with_stack=True) as prof:
        threads = [threading.Thread(target=worker) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert rows(prof.key_averages(group_by_stack_n=2)) == {("work", "load", "worker"): 3000}


def test_tasks_that_take_turns_keep_their_stacks():
    async def first(entered, left):
        with record_function("part"):
            await entered.wait()
        left.set()

    async def second(entered, left):
        with record_function("part"):
            entered.set()
            await left.wait()

    async def both():
        entered, left = asyncio.Event(), asyncio.Event()
        await asyncio.gather(first(entered, left), second(entered, left))

    with profile(monitor=False, with_stack=True) as prof:
        asyncio.run(both())
    assert rows(prof.key_averages(group_by_stack_n=1)) == {("part", "first"): 1, ("part", "second"): 1}


def test_a_deep_recursion_keeps_its_innermost_frames():
    def down(depth):
        return down(depth - 1) if depth else load()

    with profile(monitor=False, with_stack=True) as prof:
        down(700)
    stack = prof.events()[0].stack
    assert len(stack) == 500 and names(stack)[:2] == ["load", "down"]


def test_an_exception_passes_through_and_the_region_is_there():
    with profile(monitor=False, with_stack=True) as prof:
        with pytest.raises(KeyError):
            with record_function("fails"):
                raise KeyError("mine")
    assert [row.key for row in prof.key_averages()] == ["fails"]


def test_two_profilers_at_once_and_nothing_afterwards():
    with profile(monitor=False, with_stack=True) as outer:
        load()
        with profile(monitor=False, with_stack=True) as inner, profile(monitor=False) as plain:
            train()
    assert rows(outer.key_averages(group_by_stack_n=1)) == {("work", "load"): 1, ("work", "train"): 1}
    assert rows(inner.key_averages(group_by_stack_n=1)) == {("work", "train"): 1}
    assert rows(plain.key_averages()) == {("work",): 1}
    assert region_stacks._captures == 0 and not _native.is_recording()


def test_each_window_has_its_own():
    kept = []
    plan = lambda step: ["NONE", "RECORD_AND_SAVE"][step % 2]
    from stepscope import ProfilerAction

    with profile(
        monitor=False,
        with_stack=True,
        schedule=lambda step: ProfilerAction[plan(step)],
        on_trace_ready=lambda prof: kept.append(rows(prof.key_averages(group_by_stack_n=1))),
    ) as prof:
        for step in range(4):
            (load if step < 2 else train)()
            prof.step()
    assert [set(found) - {("ProfilerStep*",)} for found in kept] == [{("work", "load")}, {("work", "train")}]


def test_a_region_that_is_open_when_it_ends_is_left_in_order():
    prof = profile(monitor=False, with_stack=True)
    prof.start()
    with record_function("outlives"):
        prof.stop()
    with profile(monitor=False) as after:
        load()
    assert [row.key for row in after.key_averages()] == ["work"]


def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(100))


def test_folded_stacks_are_samples_and_count_each_moment_once(tmp_path):
    start = time.perf_counter()
    with profile(monitor=False, with_stack=True) as prof:
        with record_function("region"):
            busy(0.4)
    took_us = (time.perf_counter() - start) * 1e6
    prof.export_stacks(tmp_path / "stacks.txt")
    lines = [line.rsplit(" ", 1) for line in (tmp_path / "stacks.txt").read_text().splitlines()]
    own = [(stack.split(";"), int(value)) for stack, value in lines if "MainThread" in stack]
    assert own and all(stack[-1].endswith(":_busy") for stack, value in own if value > took_us / 4)
    # By samples and by regions it would be twice the time.
    assert 100_000 < sum(value for _, value in own) < 1.5 * took_us
    assert list(tmp_path.iterdir()) == [tmp_path / "stacks.txt"]


def test_folded_stacks_without_frames_are_regions(tmp_path):
    with profile(monitor=False) as prof:
        with record_function("outer"), record_function("inner"):
            time.sleep(0.002)
    prof.export_stacks(tmp_path / "stacks.txt", "self_cpu_time_total")
    (line,) = [line for line in (tmp_path / "stacks.txt").read_text().splitlines() if ";outer;inner " in line]
    assert int(line.rsplit(" ", 1)[1]) >= 2000


def test_a_forked_child_notes_nothing():
    with profile(monitor=False, with_stack=True) as prof:
        child = os.fork()
        if child == 0:
            load()
            os._exit(9 if _native.is_recording() or region_stacks._captures else 7)
        _, status = os.waitpid(child, 0)
        load()
    assert os.WEXITSTATUS(status) == 7
    assert rows(prof.key_averages(group_by_stack_n=1)) == {("work", "load"): 1}


def test_ctrl_c_while_a_stack_is_noted_is_the_programs():
    def interrupted():
        raise KeyboardInterrupt

    with profile(monitor=False, with_stack=True) as prof:
        _native.set_region_stacks(interrupted)
        with pytest.raises(KeyboardInterrupt):
            load()
        _native.set_region_stacks(lambda: 1 / 0)
        load()
    assert [row.key for row in prof.key_averages()] == ["work"]
    assert not _native.is_recording()
