#!/usr/bin/env python3
"""Profiles of JAX next to XProf: seconds and peak memory of its overview and timeline, and of ours.

    python3 scripts/bench/xprof.py --stepscope target/release/stepscope --xprof-python P --jax-python P [--rounds 5]

A JAX loop of 400 steps is recorded on the CPU (about 13.5 MB, 250,000 events), or `--profile` names one. Contenders
take turns, each in a process of its own: `stepscope summary`, `stepscope view` until the page can be asked, and XProf's
overview page and whole timeline without its caches. With `--synth-xplane` (a program of the test kit) profiles of a
quarter, a half and all of `--large` bytes are read too: time and memory should grow like the file.

It fails where `summary` takes a second or more, or a third or more of XProf's memory.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

MB = 1 << 20
MOST_SECONDS = 1.0
MOST_MEMORY = 1 / 3
TRAIN = """
import sys
import jax, jax.numpy as jnp

def loss(w, x):
    for layer in w:
        x = jnp.tanh(x @ layer)
    return jnp.mean(x ** 2)

@jax.jit
def train_step(w, x):
    return [p - 0.1 * g for p, g in zip(w, jax.grad(loss)(w, x))]

w = [jnp.ones((32, 32)) * 0.01 for _ in range(int(sys.argv[3]))]
x = jnp.ones((16, 32))
w = jax.block_until_ready(train_step(w, x))
with jax.profiler.trace(sys.argv[1]):
    for step in range(int(sys.argv[2])):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            w = jax.block_until_ready(train_step(w, x))
"""
# A full timeline is what the option without streaming gives; both tools start without anything that they have kept.
XPROF = """
import sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], sys.argv[2], {})
assert data and len(data) > 100, data
print(len(data))
"""


def run(command, **options):
    """Wall seconds, seconds of processors and peak bytes of one process."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command[:3]} failed: {error.decode('utf-8', 'replace')[-600:]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def view(stepscope, path):
    """The same for a server, until the page is there and its first question is answered."""
    started = time.perf_counter()
    child = subprocess.Popen(
        [stepscope, "view", str(path), "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        address = ""
        for line in child.stdout:
            found = re.search(r"http://\S+", line)
            if found:
                address = found.group().rstrip(".,)")
                break
        answer = b""
        for part in ("", "api/r/0/ask/summary"):
            # While the file is read, the server says how far it is.
            while True:
                with urllib.request.urlopen(address.rstrip("/") + "/" + part) as found:
                    answer = found.read()
                if b'"loading"' not in answer[:200]:
                    break
                time.sleep(0.005)
        assert b'"steps"' in answer, answer[:200]
        seconds = time.perf_counter() - started
    finally:
        child.terminate()
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def cold(python, path, tool, folder):
    """XProf on a copy of the profile, because it keeps what it has made beside it."""
    place = Path(folder) / "cold"
    shutil.rmtree(place, ignore_errors=True)
    copy = place / "plugins" / "profile" / "run" / "host.xplane.pb"
    copy.parent.mkdir(parents=True)
    shutil.copyfile(path, copy)
    return run([python, "-c", XPROF, str(copy), tool])


def record(python, folder, steps, layers):
    script = Path(folder) / "train.py"
    script.write_text(TRAIN)
    logs = Path(folder) / "logs"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    run([python, str(script), str(logs), str(steps), str(layers)], env=environment)
    (found,) = logs.rglob("*.xplane.pb")
    return found


def medians(contenders, rounds):
    seen = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, measure in contenders.items():
            seen[name].append(measure())
    return {name: [statistics.median(values) for values in zip(*runs)] for name, runs in seen.items()}


def beside_xprof(options, folder):
    path = (
        Path(options.profile) if options.profile else record(options.jax_python, folder, options.steps, options.layers)
    )
    own, python = options.stepscope, options.xprof_python
    print(f"JAX on the CPU: {path.stat().st_size / 1e6:.1f} MB", flush=True)
    contenders = {
        "stepscope summary": lambda: run([own, "summary", str(path)]),
        "stepscope view, ready": lambda: view(own, path),
        "stepscope xprof": lambda: run([own, "xprof", str(path)]),
        "XProf overview_page": lambda: cold(python, path, "overview_page", folder),
        "XProf trace_viewer, whole": lambda: cold(python, path, "trace_viewer", folder),
    }
    found = medians(contenders, options.rounds)
    ours, theirs = found["stepscope summary"], found["XProf overview_page"]
    for name, (seconds, cpu, peak) in found.items():
        ratio = (
            f"{seconds / ours[0]:5.1f}x the time, {cpu / ours[1]:5.1f}x the CPU time, {peak / ours[2]:4.1f}x the memory"
        )
        print(f"  {name:<26} {seconds:6.2f} s  {cpu:6.2f} s of CPU  {peak / MB:5.0f} MB   {ratio}")
    failed = []
    if ours[0] >= MOST_SECONDS:
        failed.append(f"summary took {ours[0]:.2f} s; the limit is {MOST_SECONDS} s")
    if ours[2] >= theirs[2] * MOST_MEMORY:
        failed.append(
            f"summary took {ours[2] / MB:.0f} MB; a third of XProf's is {theirs[2] * MOST_MEMORY / MB:.0f} MB"
        )
    return failed


def large(options, folder):
    path = Path(folder) / "large.xplane.pb"
    print(f"stepscope info, synthetic, eight GPUs, up to {options.large / 1e6:.0f} MB", flush=True)
    found = []
    for parts in (4, 2, 1):
        run([options.synth_xplane, "--bytes", str(options.large // parts), "--out", str(path)])
        size = path.stat().st_size
        runs = [run([options.stepscope, "info", str(path)]) for _ in range(min(options.rounds, 3))]
        seconds, cpu, peak = (statistics.median(values) for values in zip(*runs))
        found.append((size, cpu, peak))
        rate = f"{size / 1e6 / cpu:5.0f} MB per second of CPU, {peak / size:4.2f} bytes of memory per byte"
        print(
            f"  {size / 1e6:6.0f} MB: {seconds:6.2f} s  {cpu:6.2f} s of CPU  {peak / MB:5.0f} MB   {rate}", flush=True
        )
    path.unlink()
    (least, first, low), (most, last, high) = found[0], found[-1]
    times = most / least
    failed = []
    if last > first * times * 1.5:
        failed.append(f"{times:.1f} times the bytes took {last / first:.1f} times as long")
    if high > low * times * 1.25:
        failed.append(f"{times:.1f} times the bytes took {high / low:.1f} times the memory")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", required=True)
    parser.add_argument("--xprof-python", required=True, help="a Python that has xprof")
    parser.add_argument("--jax-python", help="a Python that has jax")
    parser.add_argument("--profile", help="this profile instead of one recorded now")
    parser.add_argument("--synth-xplane", help="the program of that name")
    parser.add_argument("--large", type=int, default=1_000_000_000, help="bytes of the largest synthetic profile")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--layers", type=int, default=42)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not options.profile and not options.jax_python:
        parser.error("give --jax-python or --profile")
    with tempfile.TemporaryDirectory() as folder:
        failed = beside_xprof(options, folder)
        if options.synth_xplane:
            failed += large(options, folder)
    for why in failed:
        print(f"failed: {why}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
