"""The profilers that python_hooks.py compares: one entry each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    """A way to run a workload.

    ``command`` may hold {python}, {bin} (the folder of python), {script}, {workload}, {watched} (the function whose lines
    are timed) and {out} (a path to write to).
    """

    name: str
    command: str
    #: Workloads that it cannot run, and why.
    without: tuple[tuple[str, str], ...] = ()
    #: The first Python it runs on.
    since: tuple[int, int] = (3, 9)
    #: Takes minutes: runs only if --tools names it.
    slow: bool = False


#: The run that all others are compared with comes first.
TOOLS = [
    Tool("bare", "{python} {script} {workload}"),
    # Inside the process: as a command it takes __main__ for itself, which multiprocessing does not survive.
    Tool("cProfile", "{python} {script} {workload} --around cProfile.Profile()"),
    # Inside the process too: switched on once, not at every call of the function as kernprof does.
    Tool(
        "line_profiler, one function",
        "{python} {script} {workload} --around line_profiler.LineProfiler(watched)",
    ),
    Tool("VizTracer", "{bin}/viztracer --quiet --tracer_entries 10000000 -o {out}.json {script} {workload}"),
    Tool("py-spy, 100 Hz", "{bin}/py-spy record -r 100 -s -f raw -o {out} -- {python} {script} {workload}"),
    Tool("`stepscope run`", "{python} -m stepscope run -q -o {out} {script} {workload}"),
    Tool("`stepscope run --functions`", "{python} -m stepscope run -q --functions -o {out} {script} {workload}"),
    Tool(
        "`stepscope.functions(builtins=False)`",
        "{python} {script} {workload} --around stepscope.functions(builtins=False)",
    ),
    Tool(
        "`stepscope run --lines`, one function",
        "{python} -m stepscope run -q --lines={watched} -o {out} {script} {workload}",
    ),
    Tool("`stepscope run --calls`", "{python} -m stepscope run -q --calls -o {out} {script} {workload}"),
    Tool(
        "`stepscope run --calls --min-duration 10us`",
        "{python} -m stepscope run -q --calls --min-duration 10us -o {out} {script} {workload}",
    ),
    Tool("tracemalloc, 20 frames", "{python} -X tracemalloc=20 {script} {workload}"),
    Tool("memray", "{python} -m memray run -q -o {out} {script} {workload}"),
    Tool(
        "memray, Python's own allocator too",
        "{python} -m memray run -q --trace-python-allocators -o {out} {script} {workload}",
    ),
    Tool("memory_profiler, one function", "{python} -m memory_profiler {script} {workload}", slow=True),
    Tool("`stepscope run --memory`", "{python} -m stepscope run -q --memory -o {out} {script} {workload}"),
    Tool("`stepscope run --memory=exact`", "{python} -m stepscope run -q --memory=exact -o {out} {script} {workload}"),
    Tool(
        "`stepscope run --memory --lines`, one function",
        "{python} -m stepscope run -q --memory --lines={watched} -o {out} {script} {workload}",
    ),
]
