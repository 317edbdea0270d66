"""PyTorch's averages under every name that versions of PyTorch, and guides, have used."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg  # noqa: E402

import stepscope as profiler  # noqa: E402
from stepscope import StepscopeError  # noqa: E402
from stepscope.profiler.sort_keys import SORT_KEYS  # noqa: E402

FIGURES = [
    "cuda_time",
    "cuda_time_total",
    "self_cuda_time_total",
    "cuda_memory_usage",
    "self_cuda_memory_usage",
    "device_time",
    "device_time_total",
    "self_device_time_total",
    "cpu_time",
    "cpu_time_total",
    "self_cpu_time_total",
    "cpu_memory_usage",
    "count",
    "flops",
]


@pytest.fixture(scope="module")
def recorded():
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU],
        record_shapes=True,
        profile_memory=True,
        with_flops=True,
        monitor=False,
    ) as prof:
        for size in (16, 32):
            torch.ones(size, size) @ torch.ones(size, size)
    return prof


def test_the_objects_are_torchs(recorded):
    averages = recorded.key_averages()
    assert isinstance(averages, EventList)
    assert all(isinstance(event, FunctionEventAvg) for event in averages)
    assert all(isinstance(event, FunctionEvent) for event in recorded.events())
    assert isinstance(averages.total_average(), FunctionEventAvg)
    assert averages.total_average().self_cuda_time_total == 0
    assert type(recorded.key_averages()[0]) is type(averages[0])


@pytest.mark.parametrize("figure", FIGURES)
def test_metrics_under_every_name_and_without_warnings(recorded, figure):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for events in (recorded.key_averages(), recorded.events()):
            assert all(getattr(event, figure) is not None or figure == "flops" for event in events)


def test_names_of_the_device_are_one_figure(recorded):
    event = recorded.key_averages()[0]
    for value in (-3, 12):
        name = "device_time_total" if "device_time_total" in vars(event) else "cuda_time_total"
        setattr(event, name, value)
        assert event.cuda_time_total == event.device_time_total == value


@pytest.mark.parametrize("key", SORT_KEYS)
def test_every_sort_key_works(recorded, key):
    table = recorded.key_averages().table(sort_by=key, row_limit=10)
    assert "aten::matmul" in table or "aten::mm" in table


def test_tables_are_torchs_own(recorded):
    ours = recorded.key_averages().table(sort_by="cpu_time_total", row_limit=5)
    theirs = recorded.profiler.key_averages().table(sort_by="cpu_time_total", row_limit=5)
    assert ours == theirs
    assert "[[16, 16]" in recorded.key_averages(group_by_input_shape=True).table()


def test_an_unknown_key_names_the_nearest(recorded):
    with pytest.raises(StepscopeError, match="self_cuda_mem") as caught:
        recorded.key_averages().table(sort_by="self_cuda_mem_usage")
    assert "did you mean 'self_cuda_memory_usage'?" in caught.value.hint


def test_single_events_average_to_the_same(recorded):
    from_events = {event.key: event.count for event in recorded.events().key_averages()}
    assert from_events == {event.key: event.count for event in recorded.key_averages()}


def test_torchs_own_classes_are_left_as_they_were(recorded):
    recorded.key_averages()
    plain = FunctionEventAvg()
    assert type(plain) is FunctionEventAvg
    assert not hasattr(FunctionEventAvg, "hpu_time_total")
