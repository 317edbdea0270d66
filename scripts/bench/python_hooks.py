#!/usr/bin/env python3
"""What profiling Python costs, beside other profilers in one run.

    make bench-hooks         # a release wheel in an environment for Python 3.11 and one for 3.13, then this

Every measurement is a process of its own. In each round all tools run once, one after the other, so that a busy machine
slows all of them; a ratio is to the bare run of the same round, and the median over rounds is shown with its quartiles.
The work is timed inside the process; what a tool needs before and after it is in the column "start and end".
Tools are listed in hook_tools.py, workloads in hook_workloads.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hook_tools import TOOLS, Tool
from hook_workloads import WATCHED, WORKLOADS

SCRIPT = Path(__file__).with_name("hook_workloads.py")
#: A tool may not take longer than this.
LIMIT_S = 600


def run(tool: Tool, python: str, workload: str) -> dict[str, float] | str:
    """One measurement: seconds of wall and processor time of the work, of the rest, and bytes written; or why not."""
    folder = Path(tempfile.mkdtemp())
    result, out = folder / "result.json", folder / "out"
    filled = {
        "python": python,
        "bin": str(Path(python).parent),
        "script": str(SCRIPT),
        "workload": workload,
        "watched": WATCHED[workload],
        "out": str(out),
    }
    command = [part.format(**filled) for part in shlex.split(tool.command)]
    # One thread for linear algebra: as many as there are processors measure the rest of the machine.
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    environment = {**os.environ, **threads, "HOOKS_RESULT": str(result)}
    began = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
        whole = time.perf_counter() - began
        if not result.exists():
            return (done.stderr.strip().splitlines() or ["no result"])[-1][:100]
        found: dict[str, float] = json.loads(result.read_text())
        written = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and file != result)
        return {**found, "rest": whole - found["wall"], "bytes": float(written)}
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)[:100]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(python: str, workload: str, rounds: int, tools: list[Tool]) -> dict[str, list[dict[str, float] | str]]:
    found: dict[str, list[dict[str, float] | str]] = {tool.name: [] for tool in tools}
    for _ in range(rounds):
        for tool in tools:
            found[tool.name].append(run(tool, python, workload))
    return found


def ratios(of: list[dict[str, float] | str], bare: list[dict[str, float] | str], key: str) -> list[float]:
    return [one[key] / base[key] for one, base in zip(of, bare) if isinstance(one, dict) and isinstance(base, dict)]


def shown(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.2f}x" if values else "-"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f}x ({low:.2f} to {high:.2f})"


def report(version: str, workload: str, found: dict[str, list[dict[str, float] | str]], tools: list[Tool]) -> None:
    bare = found[tools[0].name]
    failed = next((one for one in bare if isinstance(one, str)), None)
    if failed is not None:
        sys.exit(f"the bare run failed: {failed}")
    times = [one["cpu"] for one in bare if isinstance(one, dict)]
    base_rest = statistics.median(one["rest"] for one in bare if isinstance(one, dict))
    print(
        f"\nPython {version}, {workload}: bare {statistics.median(times):.3f} s of processor time, {len(bare)} rounds\n"
    )
    print("| what | processor time | wall time | start and end | written |\n|---|---:|---:|---:|---:|")
    for tool in tools[1:]:
        all_ = found[tool.name]
        good = [one for one in all_ if isinstance(one, dict)]
        if not good:
            why = next((one for one in all_ if isinstance(one, str)), "not run")
            print(f"| {tool.name} | {why} | | | |")
            continue
        rest = statistics.median(one["rest"] for one in good) - base_rest
        size = statistics.median(one["bytes"] for one in good)
        cpu, wall = shown(ratios(all_, bare, "cpu")), shown(ratios(all_, bare, "wall"))
        print(f"| {tool.name} | {cpu} | {wall} | {max(rest, 0.0):.1f} s | {size / 1e6:.1f} MB |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="some of: " + ", ".join(WORKLOADS))
    parser.add_argument("--tools", default="", help="only tools whose name has one of these words, and the bare run")
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="with stepscope and its contenders")
    options = parser.parse_args()
    words = [word for word in options.tools.split(",") if word]
    named = [tool for tool in TOOLS[1:] if any(word in tool.name for word in words)]
    tools = [TOOLS[0], *(named if words else [tool for tool in TOOLS[1:] if not tool.slow])]
    # Each run has a folder of its own. Not resolved: an environment is known by the link.
    for python in map(os.path.abspath, options.pythons):
        ask = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
        version = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
        able = [tool for tool in tools if tool.since <= tuple(int(part) for part in version.split(".")[:2])]
        for workload in options.workloads.split(","):
            fit = [tool for tool in able if workload not in dict(tool.without)]
            report(version, workload, measure(python, workload, max(1, options.rounds), fit), fit)


if __name__ == "__main__":
    main()
