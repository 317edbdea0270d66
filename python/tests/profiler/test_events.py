"""Events, averages and tables without PyTorch."""

from __future__ import annotations

import re

import pytest

from stepscope import StepscopeError
from stepscope._native import Recording
from stepscope.profiler.event_table import format_bytes, format_share, format_time
from stepscope.profiler.event_tree import events_of_recording, nest
from stepscope.profiler.events import EventList, FunctionEvent, FunctionEventAvg
from stepscope.profiler.sort_keys import SORT_KEYS, resolve_sort_key


def row(name, calls=2, total=4000, own=3000, **more):
    return {
        "name": name,
        "calls": calls,
        "host_total_ns": total,
        "host_self_ns": own,
        "device_total_ns": 0,
        "device_self_ns": 0,
        "host_memory_bytes": 0,
        "host_self_memory_bytes": 0,
        "device_memory_bytes": 0,
        "device_self_memory_bytes": 0,
        "flops": 0,
        "input_shapes": None,
        "stack": None,
        "overload": None,
        "kind": "annotation",
        **more,
    }


def averages(*rows, **options):
    return EventList([FunctionEventAvg.of_row(r) for r in rows], **options)


def test_times_are_microseconds_under_every_name():
    event = FunctionEventAvg.of_row(row("forward", device_total_ns=9000, device_self_ns=5000))
    assert (event.key, event.count) == ("forward", 2)
    assert (event.cpu_time_total, event.self_cpu_time_total, event.cpu_time) == (4.0, 3.0, 2.0)
    for word in ("device", "cuda", "xpu"):
        assert getattr(event, f"{word}_time_total") == 9.0
        assert getattr(event, f"self_{word}_time_total") == 5.0
        assert getattr(event, f"{word}_time") == 4.5
    assert event.cuda_time_total_str == "9.000us"
    assert event.self_cuda_memory_usage == 0


def test_the_table_has_torchs_columns_and_lines():
    events = averages(row("load", total=3_000_000, own=3_000_000), row("forward", total=1_000_000, own=1_000_000))
    text = events.table(sort_by="cpu_time_total")
    lines = text.split("\n")
    assert re.split(r"\s{2,}", lines[1].strip()) == [
        "Name",
        "Self CPU %",
        "Self CPU",
        "CPU total %",
        "CPU total",
        "CPU time avg",
        "# of Calls",
    ]
    assert re.split(r"\s{2,}", lines[3].strip()) == ["load", "75.00%", "3.000ms", "75.00%", "3.000ms", "1.500ms", "2"]
    assert lines[0] == lines[2] == lines[5] and set(lines[0]) == {"-", " "}
    assert lines[-2] == "Self CPU time total: 4.000ms" and lines[-1] == ""
    assert len({len(line) for line in lines[:6]}) == 1
    assert str(events) == events.table()


def test_options_of_the_table():
    events = averages(row("a" * 80), row("b"), row("c"))
    assert events.table(row_limit=1).count("2.000us") == 1
    assert events.table(row_limit=-1).count("2.000us") == 3
    assert "a" * 52 + "..." in events.table()
    assert "a" * 80 in events.table(max_name_column_width=None)
    assert "0.004ms" in events.table(time_unit="ms")
    assert events.table(header="Mine").split("\n")[1] == "Mine"
    assert EventList().table(sort_by="cpu_time_total") == ""


def test_columns_appear_when_there_is_something_in_them():
    shaped = averages(row("mm", input_shapes="[[2, 3], [3, 4]]", flops=48_000, kind="op"), with_flops=True)
    assert "Input Shapes" in shaped.table() and "[[2, 3], [3, 4]]" in shaped.table()
    assert "Total KFLOPs" in shaped.table() and "48.000" in shaped.table()
    memory = averages(row("mm", host_memory_bytes=2048), profile_memory=True).table()
    assert "Self CPU Mem" in memory and "2.00 KB" in memory
    device = averages(row("mm", device_total_ns=9000, device_self_ns=9000)).table()
    assert "Self DEVICE" in device and "9.000us" in device
    stacked = averages(row("mm", stack=["train.py(7): step", "train.py(1): <module>"])).table()
    assert "Source Location" in stacked and "train.py(1): <module>" in stacked


@pytest.mark.parametrize("key", SORT_KEYS)
def test_every_sort_key_works(key):
    events = averages(row("b", calls=1, total=1000, own=1000), row("a", calls=5, total=9000, own=9000))
    assert "Self CPU time total" in events.table(sort_by=key)


def test_sorting_is_by_the_key():
    events = averages(row("few", calls=1, total=9000, own=1000), row("many", calls=5, total=1000, own=1000))
    by_time, by_calls = events.table(sort_by="cpu_time_total"), events.table(sort_by="count")
    assert by_time.index("few") < by_time.index("many")
    assert by_calls.index("many") < by_calls.index("few")


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(StepscopeError, match="cuda_tme_total") as caught:
        averages(row("a")).table(sort_by="cuda_tme_total")
    assert "did you mean 'cuda_time_total'?" in caught.value.hint
    with pytest.raises(StepscopeError, match="'add'"):
        resolve_sort_key("add", FunctionEventAvg("a"))


def test_totals():
    events = averages(row("a"), row("b", calls=3, total=6000, own=6000))
    total = events.total_average()
    assert (total.key, total.count, total.cpu_time_total) == ("Total", 5, 10.0)
    assert events.self_cpu_time_total == 9.0


def test_nesting_finds_parents_and_own_times():
    outer = FunctionEvent(0, "outer", 1, 0.0, 10.0)
    inner = FunctionEvent(1, "inner", 1, 2.0, 5.0)
    after = FunctionEvent(2, "after", 1, 10.0, 12.0)
    elsewhere = FunctionEvent(3, "elsewhere", 2, 3.0, 4.0)
    nest([after, inner, elsewhere, outer])
    assert inner.cpu_parent is outer and outer.cpu_parent is None
    assert after.cpu_parent is None and elsewhere.cpu_parent is None
    assert (outer.self_cpu_time_total, inner.self_cpu_time_total) == (7.0, 3.0)


def test_events_that_only_overlap_have_no_parent():
    first = FunctionEvent(0, "first", 1, 0.0, 10.0)
    second = FunctionEvent(1, "second", 1, 5.0, 15.0)
    nest([first, second])
    assert first.cpu_parent is None and second.cpu_parent is None and second.is_async
    assert first.self_cpu_time_total == 10.0


def test_events_of_a_recording_leave_python_frames_out():
    recording = Recording()
    recording.slice("a", 5000, 7000)
    recording.slice("f", 5000, 7000, "python_function")
    recording.counter("host.cpu_percent", 5000, 1.0)
    assert [(event.name, event.cpu_time_total) for event in events_of_recording(recording)] == [("a", 2.0)]


def test_units():
    assert [format_time(t) for t in (0, 999.9994, 1000, 1e6)] == ["0.000us", "999.999us", "1.000ms", "1.000s"]
    assert [format_bytes(b) for b in (0, -1024, 5 << 30)] == ["0 B", "-1.00 KB", "5.00 GB"]
    assert format_share(1, 3) == "33.33%" and format_share(0, 0) == "NaN"
