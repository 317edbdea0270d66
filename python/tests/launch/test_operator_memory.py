"""When ``stepscope run`` stops recording operators because of the memory that it takes."""

from __future__ import annotations

import pytest

from stepscope._launch import operator_memory

GIB = 1 << 30


@pytest.fixture
def grown(monkeypatch):
    """What is told of a process that has grown to these sizes, one after the other."""

    def tell(sizes):
        told = []
        memory = operator_memory.OperatorMemory(GIB, told.append)
        memory._resident_before = GIB
        monkeypatch.setattr(operator_memory, "tensor_bytes", lambda largest: GIB // 2)
        for size in sizes:
            monkeypatch.setattr(operator_memory, "_resident_bytes", lambda size=size: size)
            if memory._kept() > memory._suspect_kept:
                memory._look_at_all()
        return told

    return tell


def test_what_stays_and_is_in_no_tensor_counts(grown):
    assert grown([4 * GIB] * 12) == [3 * GIB - GIB // 2]


def test_what_comes_and_goes_does_not(grown):
    assert grown([4 * GIB, 4 * GIB, GIB] * 8) == []


def test_what_the_program_holds_in_tensors_does_not(grown):
    assert grown([5 * GIB // 2] * 20) == []
