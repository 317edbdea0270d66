"""A bit of everything that is called and runs lines, with the same counts on every run."""

from __future__ import annotations

import asyncio
import json
import re
import textwrap


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def numbers(n):
    for i in range(n):
        try:
            yield i
        except KeyError:
            pass


def delegated(n):
    result = yield from numbers(n)
    return result


async def leaf(x):
    await asyncio.sleep(0)
    return x


async def tree():
    return await asyncio.gather(*[leaf(i) for i in range(5)])


async def stream():
    for i in range(3):
        yield i
        await asyncio.sleep(0)


async def walk():
    return [x async for x in stream()]


def fails(n):
    if n == 0:
        raise ValueError("x")
    fails(n - 1)


class Thing:
    def __init__(self):
        self.values = []

    def __len__(self):
        return 3

    def __getattr__(self, name):
        return name

    @property
    def size(self):
        return len(self)

    @classmethod
    def made(cls):
        return cls()

    @staticmethod
    def text():
        return str(5)


class Stack(list):
    def push(self, x):
        super().append(x)


def generators():
    got = [list(numbers(4)), list(delegated(3))]
    thrown = numbers(3)
    next(thrown)
    thrown.throw(KeyError)
    thrown.close()
    left = delegated(3)
    next(left)
    left.send(5)
    del left
    return got


def exceptions():
    for _ in range(3):
        try:
            fails(4)
        except ValueError:
            pass
        for broken in (lambda: int("q"), lambda: [].index(5), lambda: {}.pop(1)):
            try:
                broken()
            except (ValueError, KeyError):
                continue


def objects():
    thing = Thing()
    len(thing)
    thing.anything
    thing.size
    Thing.made()
    Thing.text()
    stack = Stack()
    stack.push(4)
    extend = stack.extend
    extend([1, 2])
    sorted([3, 1, 2], key=lambda v: -v)


def builtins():
    list(map(str, range(4)))
    list(filter(lambda v: v > 2, range(4)))
    {k: 2 * v for k, v in zip("ab", [1, 2])}
    [str(i) for i in range(4)]
    {2 * i for i in range(2)}
    " a ".strip().split(",")
    "x".join(["a"])
    dict.fromkeys("abc")
    found = {}
    found.get(4)
    found.setdefault(4, 5)
    found.update(a=4)
    re.sub(r"\d", lambda m: m.group(), "1 2 3")
    json.loads(json.dumps({"a": [1, 2.5, None]}))
    textwrap.dedent("  a\n  b")
    max([1, 2, 3], key=abs)
    isinstance(5, int)
    next(iter([1]))
    exec("def q():\n    return 5\nq()\nq()")


def work():
    fib(12)
    even(9)
    generators()
    asyncio.run(tree())
    asyncio.run(walk())
    exceptions()
    objects()
    builtins()


def branches(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += 1
        else:
            total -= (
                i
                + 1
            )  # fmt: skip
        try:
            if i == 3:
                raise ValueError
        except ValueError:
            total += 5
        finally:
            total += 1
    with open("/dev/null"):
        [2 * x for x in range(3)]
    while n:
        n -= 1
    return total


async def awaits(n):
    for i in range(n):
        await asyncio.sleep(0)
        [2 * j for j in range(i)]
    async with asyncio.Lock():
        pass


async def both():
    await asyncio.gather(awaits(3), awaits(4))


LINES = [
    branches,
    awaits,
    fib,
    even,
    odd,
    numbers,
    delegated,
    leaf,
    stream,
    fails,
    Thing,
    Stack,
    generators,
    exceptions,
]
"""What has its lines timed."""


def run_lines():
    branches(6)
    asyncio.run(both())
    work()
