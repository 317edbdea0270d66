"""One wheel, every Python: the parts that lean on the interpreter, with nothing else installed."""

from __future__ import annotations

import sys
import tempfile

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
assert not {"torch", "numpy"} & set(sys.modules)
print(f"Python {sys.version.split()[0]}: stepscope {stepscope.__version__} works")
