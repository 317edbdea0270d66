"""One wheel, every Python: the parts that lean on the interpreter, with nothing else installed."""

from __future__ import annotations

import gc
import sys
import tempfile
from pathlib import Path

import stepscope

with tempfile.TemporaryDirectory() as folder:
    with stepscope.profile(on_trace_ready=stepscope.tensorboard_trace_handler(folder)) as prof:
        for _ in range(2):
            with stepscope.record_function("work"):
                sum(range(10_000))
            prof.step()
    assert any(event.key == "work" and event.count == 2 for event in prof.key_averages())
    trace = stepscope.open(folder)
    assert "work" in trace.ops(kind="annotations").column("name")
profiler = stepscope.PerformanceProfiler()
with profiler.profile("region"):
    sum(range(10_000))
assert profiler.get_metrics().timing.wall_time_s > 0
# Calls as cProfile counts them, and lines.
sys.path.insert(0, str(Path(__file__).parent / "exact"))
import corpus  # noqa: E402
from counts import PARTS, check  # noqa: E402

gc.disable()  # finalizers are calls too, and come when they like
for part in PARTS:
    check(part)
gc.enable()
with stepscope.lines(corpus.fib, corpus.numbers) as timed:
    corpus.fib(6)
    list(corpus.numbers(3))
assert [[hits for _, hits, _ in one.lines] for one in timed.timings] == [[25], [4, 3, 3]]
if sys.version_info >= (3, 12):
    # The loop that a program is in, seen from within an inner one.
    from stepscope._launch import loops

    moment = 0
    loops.now_ns = lambda: moment
    turned: list[int] = []
    watch = loops.LoopWatch(turned.append)
    number = 0
    while number < 20:
        number += 1
        moment = 0 if number < 10 else 10**10
        for _ in range(5):
            if number == 2 and _ == 3:
                assert watch.start(sys._getframe())
        if number % 2:
            continue
    assert turned == [8] * 10, turned
    watch.stop()
assert not {"torch", "numpy"} & set(sys.modules)
print(f"Python {sys.version.split()[0]}: stepscope {stepscope.__version__} works")
