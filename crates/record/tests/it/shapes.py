"""Programs that stand still, each in a stack of another shape. The shape is the argument; `ready` is printed where it stays."""

import asyncio
import functools
import itertools
import re
import sys
import threading
import time

# Longer than any test waits; whoever starts this ends it.
SECONDS = 300


def wait():
    print("ready", flush=True)
    time.sleep(
        SECONDS
    )


def plain():
    wait()


def threads():
    lock = threading.Lock()
    lock.acquire()

    def locked():
        with lock:
            pass

    def waiting(event):
        event.wait()

    def sleeping():
        time.sleep(SECONDS)

    for name, target, args in (
        ("locked-1", locked, ()),
        ("waits-2", waiting, (threading.Event(),)),
        ("\u00e4\u4e2d-sleeps", sleeping, ()),
    ):
        threading.Thread(target=target, args=args, name=name, daemon=True).start()
    wait()


def generators():
    def inner():
        yield 1
        wait()
        yield 2

    def outer():
        yield 0
        yield from inner()

    for _ in outer():
        pass


def generator_expression():
    def value(n):
        if n == 3:
            wait()
        return n

    return sum(value(n) for n in range(10))


def coroutines():
    async def inner():
        await asyncio.sleep(0)
        wait()

    async def middle():
        async with asyncio.Lock():
            await inner()

    async def outer():
        await asyncio.gather(middle(), asyncio.sleep(0))

    asyncio.run(outer())


def c_calls():
    def key(value):
        return re.sub("a", lambda match: functools.reduce(lambda a, b: wait() or a, [1, 2]) and "", "a")

    return list(map(lambda values: sorted(values, key=key), [[2, 1]]))


def recursion():
    def down(n):
        if n == 0:
            return wait()
        return down(n - 1)

    sys.setrecursionlimit(5000)
    down(2000)


def comprehensions():
    return {
        k: [
            wait()
            for _ in range(2)
        ]
        for k in "ab"
    }


def classes():
    class Base:
        def __init__(self, value):
            self.value = value

        @property
        def late(self):
            return self.value()

        def __getattr__(self, name):
            return self.late

        def __enter__(self):
            return self.missing

        def __exit__(self, *_):
            pass

    with Base(lambda: wait()):
        pass


def executed():
    exec(compile("def made():\n\n\n    f()\n\nmade()", "<made>", "exec"), {"f": wait})


def handlers():
    try:
        try:
            raise ValueError
        except ValueError:
            raise KeyError from None
        finally:
            pass
    except KeyError:
        for _ in range(3):
            while True:
                wait()
                break


def long_lines():
    one = 1
    result = functools.partial(
        (lambda a, b, c: wait()),
        one,
        2,
    )(
        3
    )
    return result


def local_variables(number=7, text="text\n", *rest, **options):
    nothing, truth, real = None, True, 2.5
    large, negative = 10**30, -12
    values, pairs = [1, [2, [3, [4]]], "x"], {"a": 1, 2: (3,)}
    raw = b"\x00abc"

    def closes_over():
        wait()
        return number, values

    closes_over()
    del nothing, truth, real, large, negative, pairs, raw, text


def busy():
    def work(until):
        print("ready", flush=True)
        n = 0
        while time.time() < until:
            n += 1
        return n

    work(time.time() + SECONDS)


def squeezes():
    import zlib

    data = bytes(range(256)) * 40_000
    print("ready", flush=True)
    while True:
        zlib.compress(data, 9)


def counts_rows():
    import sqlite3

    base = sqlite3.connect(":memory:")
    print("ready", flush=True)
    while True:
        base.execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) select count(*) from n"
        ).fetchall()


def alarmed():
    """Gets one signal after the other, each sent when the last one has arrived: a lost one is waited for in vain. Ends when it has
    got 300 and nobody holds its input open; then prints how many."""
    import select
    import signal

    seen = [0]

    def handler(*_):
        seen[0] += 1

    signal.signal(signal.SIGALRM, handler)
    print("ready", flush=True)
    while seen[0] < 300 or not select.select([sys.stdin], [], [], 0)[0]:
        before = seen[0]
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        while seen[0] == before:
            time.sleep(0.002)
    print(seen[0], flush=True)


def short_a():
    return sum(range(3000))


def short_b():
    return sum(range(3001))


def several():
    """One call that leads to two functions in turn, after it led to one of them for long."""

    def say_ready():
        print("ready", flush=True)

    for function in itertools.chain([short_a] * 1000, [say_ready], itertools.cycle([short_a, short_b])):
        function()


def leaf_a(n):
    return n + 1


def mid_a(n):
    return leaf_a(n) + leaf_a(n)


def leaf_b(n, m=1, k=2):
    return n - 1


def mid_b(n, x=3):
    y = x
    return leaf_b(n) - leaf_b(y)


def outer_a(n):
    return mid_a(n)


def outer_b(n):
    return mid_b(n)


def calls():
    """Nothing but short calls: stacks change every 50 ns or so."""
    print("ready", flush=True)
    end = time.time() + SECONDS
    while time.time() < end:
        for i in range(1000):
            outer_a(i)
            outer_b(i)


globals()[sys.argv[1]]()
