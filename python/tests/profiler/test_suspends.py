"""Whether a block of a coroutine awaits something inside, told by the code alone."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import pytest

from stepscope.profiler import suspends


class Noted:
    """Asks as a region does: while it is entered."""

    answers: dict[str, bool] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> Noted:
        self.answers[self.name] = suspends.may_suspend(sys._getframe(1))
        return self

    def __exit__(self, *_: object) -> None:
        pass


async def values():
    with Noted("generator, nothing awaited"):
        value = 1
    with Noted("generator, a value given inside"):
        yield value


async def coroutine(value=0):
    with Noted("nothing awaited"):
        value += 1
    with Noted("awaited"):
        await asyncio.sleep(0)
    with Noted("around, nothing awaited"):
        with Noted("inside, nothing awaited"):
            try:
                value += int("1")
            except ValueError:
                value = 0
        for _ in range(2):
            with Noted("in a loop, nothing awaited"):
                pass
    with Noted("around, awaited in a branch"):
        with Noted("inside, awaited after it"):
            value += 1
        if value:
            try:
                await asyncio.sleep(0)
            finally:
                value += 1
    with Noted("first of two, awaited"), Noted("second of two, awaited") as _noted:
        async for _ in values():
            pass
    with Noted("async with"):
        async with contextlib.AsyncExitStack():
            pass
    await asyncio.sleep(0)
    with Noted("returns"):
        return value


def plain():
    with Noted("plain function"):
        pass


def test_every_block():
    Noted.answers.clear()
    asyncio.run(coroutine())
    plain()
    assert Noted.answers == {
        "generator, nothing awaited": False,
        "generator, a value given inside": True,
        "nothing awaited": False,
        "awaited": True,
        "around, nothing awaited": False,
        "inside, nothing awaited": False,
        "in a loop, nothing awaited": False,
        "around, awaited in a branch": True,
        "inside, awaited after it": False,
        "first of two, awaited": True,
        "second of two, awaited": True,
        "async with": True,
        "returns": False,
        "plain function": False,
    }


def test_what_is_not_a_block_may_be_suspended():
    async def by_hand():
        noted = Noted("by hand")
        noted.__enter__()
        await asyncio.sleep(0)
        noted.__exit__()

    asyncio.run(by_hand())
    assert Noted.answers["by hand"] is True


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the table is of Python 3.11")
def test_the_table_is_read_as_python_reads_it():
    import dis

    entries = [(entry.start, entry.end, entry.target) for entry in dis._parse_exception_table(coroutine.__code__)]
    assert entries and suspends._protected(coroutine.__code__.co_exceptiontable) == entries
