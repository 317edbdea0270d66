"""What `stepscope run`, without options, costs programs that it does not know, and whether it times them right.

    python scripts/check_recordings.py [--rounds N] [PROGRAM [ARGUMENT]]...

Each program of python/tests/launch/programs runs in turns without us and under `stepscope run`, and says at its end how
long its iterations took by its own clock. A row compares: the whole run, the last third of the iterations (recording is
over by then), and the bare iteration that the trace holds against the program's own.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).resolve().parent.parent / "python" / "tests" / "launch" / "programs"
RUN = [sys.executable, "-m", "stepscope", "run", "-q"]


def run(command: list[str]) -> dict[str, Any]:
    """What a program said of itself, and how long its process took."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    took_s = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    if done.stderr.strip():
        print(f"  stderr: {done.stderr.strip()}")
    return {**json.loads(done.stdout.splitlines()[-1]), "process_s": took_s}


def of_trace(folder: Path) -> dict[str, Any]:
    """What the recording knows of the program's iterations."""
    (path,) = folder.glob("*.json.gz")
    with gzip.open(path) as file:
        document = json.load(file)
    steps = sum(event.get("name", "").startswith("ProfilerStep#") for event in document["traceEvents"])
    bare = document.get("stepscope_bare_steps", {})
    host = bare.get("host_ns", [])
    recent = host[len(host) // 3 :]
    host_ns = statistics.fmean(recent) if recent else None
    known = [ns for ns in (host_ns, bare.get("device_ns")) if ns is not None]
    found = document.get("stepscope_iterations", {})
    return {
        "steps": steps,
        "bare_ms": max(known) / 1e6 if known else None,
        "mb": path.stat().st_size / 1e6,
        "by": found.get("found_by", "-"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("programs", nargs="*", help="PROGRAM=ARGUMENT, such as train.py=4")
    chosen = parser.parse_args()
    print(
        f"{'program':<14}{'bare s':>8}{'run s':>8}{'ratio':>7}{'iter ms':>9}{'after':>9}{'ratio':>7}{'in file':>9}"
        f"{'ratio':>7}{'steps':>6}{'MB':>6}  found by"
    )
    for asked in chosen.programs or ["train.py", "generate.py"]:
        name, _, argument = asked.partition("=")
        command = [str(PROGRAMS / name), *([argument] if argument else [])]
        bare, under, traces = [], [], []
        for _ in range(chosen.rounds):
            bare.append(run([sys.executable, *command]))
            with tempfile.TemporaryDirectory() as folder:
                under.append(run([*RUN, "-o", folder, *command]))
                traces.append(of_trace(Path(folder)))

        def middle(rows: list[dict[str, Any]], key: str) -> float:
            return statistics.median(row[key] for row in rows if row[key] is not None)

        wall, run_wall = middle(bare, "process_s"), middle(under, "process_s")
        own, after = middle(bare, "mean_ms"), middle(under, "mean_ms")
        timed = [trace["bare_ms"] for trace in traces if trace["bare_ms"]]
        in_file = statistics.median(timed) if timed else float("nan")
        last = traces[-1]
        print(
            f"{name:<14}{wall:>8.2f}{run_wall:>8.2f}{run_wall / wall:>7.2f}{own:>9.3f}{after:>9.3f}{after / own:>7.2f}"
            f"{in_file:>9.3f}{in_file / own:>7.2f}{last['steps']:>6}{last['mb']:>6.1f}  {last['by']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
