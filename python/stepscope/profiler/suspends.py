"""Whether a ``with`` block can be left for a while, in the middle, by a coroutine that awaits something in it.

Other tasks run on the thread meanwhile. PyTorch knows threads only: a region around such a block would hold the work of
those tasks, and cut their regions. Where nothing is awaited inside, PyTorch has it right.
"""

from __future__ import annotations

import dis
import inspect
from types import CodeType, FrameType

_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_SUSPENDING = {"YIELD_VALUE", "YIELD_FROM", "SEND", "GET_AWAITABLE", "GET_ANEXT"}
_MAX_KNOWN = 10_000

_known: dict[tuple[int, int], tuple[CodeType, bool]] = {}
"""Answers by code and instruction; the code is kept, so that its identity is not given to another."""


def may_suspend(frame: FrameType) -> bool:
    """Whether the ``with`` block that this frame is entering right now may be suspended before its end.

    What is not understood may be.
    """
    code = frame.f_code
    if not code.co_flags & _ASYNC:
        return False
    key = (id(code), frame.f_lasti)
    known = _known.get(key)
    if known is None:
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        known = _known[key] = (code, _awaits_inside(code, frame.f_lasti))
    return known[1]


def _awaits_inside(code: CodeType, entering: int) -> bool:
    block = _block(code, entering)
    return not block or any(
        instruction.opname in _SUSPENDING and any(start <= instruction.offset < end for start, end in block)
        for instruction in dis.get_instructions(code)
    )


def _block(code: CodeType, entering: int) -> list[tuple[int, int]]:
    """The ranges of instructions of the block that the instruction at this offset enters; none if that is unknown."""
    table = getattr(code, "co_exceptiontable", None)
    if table is None:
        # Up to Python 3.10 one instruction enters the block and names its end.
        return [
            (entering, int(instruction.argval))
            for instruction in dis.get_instructions(code)
            if instruction.offset == entering and instruction.opname == "SETUP_WITH"
        ]
    ranges = _protected(table)
    first = min((found for found in ranges if found[0] > entering), default=None)
    if first is None:
        return []
    # Blocks within have handlers of their own, which this one's handler protects. They need not stand near each other.
    handlers = {first[2]}
    block: list[tuple[int, int]] = []
    while True:
        wider = [(start, end) for start, end, handler in ranges if handler in handlers]
        if len(wider) == len(block):
            return block
        block = wider
        handlers.update(handler for _, _, handler in ranges if any(start <= handler < end for start, end in block))


def _protected(table: bytes) -> list[tuple[int, int, int]]:
    """The entries of a code object's table of exceptions: start, end and handler, as offsets in bytes.

    Each entry has four numbers of six bits a byte, the most significant first; 64 means that more follow, 128 that an
    entry begins.
    """
    found = []
    numbers: list[int] = []
    value, more = 0, False
    for byte in table:
        value = (value << 6 | byte & 63) if more else byte & 63
        more = bool(byte & 64)
        if not more:
            numbers.append(2 * value)
    for start, length, handler, _depth in zip(*[iter(numbers)] * 4):
        found.append((start, start + length, handler))
    return found
