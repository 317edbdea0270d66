"""Runs the tests in stages, and says at the end what they did and how long each took.

    run.py all         what `make test` runs
    run.py fast        Rust, UI logic and Python in place: no browser, no frameworks
    run.py python      the Python package alone, as users get it
    run.py nightly     everything, with what is too slow for every change
    run.py clocks      what watches processes and clocks in Rust; python-clocks: in Python

First all is built, then the stages that compute run one after the other, and beside them those that mostly wait. With
--busy an endless loop runs beside them on every core, and nothing is tried twice: what fails then depends on luck.
Every runner writes JUnit into target/test-report, next to the table (report.txt) and the times of this run.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import report
import stages as all_stages
from stages import ENVIRONMENTS, GROUPS, Stage, environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target/test-report"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--busy", action="store_true", help="beside an endless loop on every core, without second tries")
    parser.add_argument("--times", type=int, default=1, help="how often to run what is not a build")
    chosen = parser.parse_args()
    group = chosen.group
    os.chdir(ROOT)
    if group == "nightly":
        os.environ["STEPSCOPE_NIGHTLY"] = "1"
        os.environ["CARGO_PROFILE_DEV_DEBUG_ASSERTIONS"] = "true"
    if chosen.busy:
        os.environ["STEPSCOPE_BUSY"] = "1"
    stages = in_rounds(GROUPS[group], chosen.times)
    print_plan(group, stages)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    os.environ["STEPSCOPE_RETRIED"] = str(FOLDER / "retried.txt")

    # Downloads take minutes and hardly any processor time: they run while Rust compiles.
    needed = {name for stage in stages for name in stage.needs}
    threading.Thread(target=make_environments, args=([name for name in ENVIRONMENTS if name in needed],), daemon=True).start()
    start = time.monotonic()
    done = run(stages, alone=chosen.busy or chosen.times > 1)
    took = json.dumps({"seconds": time.monotonic() - start, "stages": done}, indent=1)
    (FOLDER / "stages.json").write_text(took)
    if not chosen.busy and chosen.times == 1:
        last_times(group).write_text(took)
    sys.argv = ["report.py", str(FOLDER)]
    return report.main()


def last_times(group: str) -> pathlib.Path:
    return FOLDER.parent / f"times-of-{group}.json"


def make_environments(names: list[str]) -> None:
    for name in names:
        environment(name, niceness=10)


def in_rounds(stages: list[Stage], times: int) -> list[Stage]:
    """What is not a build, so many times."""
    if times == 1:
        return stages
    builds = [stage for stage in stages if stage.is_build]
    tests = [stage for stage in stages if not stage.is_build]
    rounds = range(1, times + 1)
    return builds + [replace(stage, name=f"{stage.name}, {at} of {times}") for at in rounds for stage in tests]


@contextlib.contextmanager
def beside_loops() -> Iterator[None]:
    """If that is asked for, an endless loop on every core."""
    wanted = "STEPSCOPE_BUSY" in os.environ
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1) if wanted]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()


def print_plan(group: str, stages: list[Stage]) -> None:
    before = last_times(group)
    if before.exists():
        times = json.loads(before.read_text())
        last = {stage["name"]: stage["seconds"] for stage in times["stages"]}
        total = f"{report.clock(times['seconds'])} last time here"
    else:
        last, total = {}, "not timed here yet"
    print(f"{len(stages)} stages, {total}:")
    for at, stage in enumerate(stages, 1):
        print(f"  {at:2}. {stage.name}" + (f" ({report.clock(last[stage.name])})" if stage.name in last else ""))
    print(flush=True)


def run(stages: list[Stage], alone: bool) -> list[dict]:
    """Builds one after the other, then the tests. A failed build ends the run."""
    done: list[dict] = []
    for stage in stages:
        if stage.is_build:
            done.append(run_one(stage, None))
            if done[-1]["code"]:
                return done
    tests = [stage for stage in stages if not stage.is_build]
    # Two stages that compute are slower side by side than one after the other: each keeps every core busy by itself.
    lanes = [[stage for stage in tests if stage.waits == waits] for waits in (False, True)] if not alone else [tests]
    with beside_loops(), concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        for lane in pool.map(lambda lane: [run_one(stage, None if alone else log_of(stage)) for stage in lane], lanes):
            done += lane
    return done


def log_of(stage: Stage) -> pathlib.Path:
    return FOLDER / f"{stage.name.replace(' ', '-')}.log"


def run_one(stage: Stage, path: pathlib.Path | None) -> dict:
    """Runs a stage; with a path, what it prints comes when it is done."""
    print(f"── {stage.name} ──", flush=True)
    start, used_before = time.monotonic(), all_stages.processor_seconds()
    with path.open("w") if path else contextlib.nullcontext() as log:
        try:
            code = stage.work(log)
        except subprocess.CalledProcessError as error:
            # What it needs could not be made; why has been printed.
            print(f"{shlex.join(error.cmd)} failed", file=log or sys.stderr)
            code = error.returncode
    seconds = time.monotonic() - start
    word = "done" if code == 0 else f"FAILED (exit code {code})"
    # In one piece: another stage may end at the same moment.
    print((path.read_text() if path else "") + f"── {stage.name}: {word} in {report.clock(seconds)} ──\n", flush=True)
    return {"name": stage.name, "seconds": seconds, "processor": all_stages.processor_seconds() - used_before, "code": code}


if __name__ == "__main__":
    raise SystemExit(main())
