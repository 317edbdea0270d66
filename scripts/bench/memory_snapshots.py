#!/usr/bin/env python3
"""Memory snapshots of PyTorch next to other readers: seconds to the table of the peak, and peak memory.

    python3 scripts/bench/memory_snapshots.py --stepscope target/release/stepscope [--events 1000000] [--rounds 5]

Two files: a synthetic one with stacks of 40 frames that are shared, and a recorded one (fixtures/memory) repeated until it
is as long. Contenders take turns: `stepscope memory`, CPython's `pickle.load` alone, which is what every Python tool does
first, and PyTorch's own `_memory_viz.py` where `--torch-python` names a Python that has it.
"""

import argparse
import gzip
import os
import pickle
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RECORDED = ROOT / "fixtures" / "memory" / "activations_kept.pickle.gz"
MB = 1 << 20


def synthetic(events, stacks=4000, depth=40):
    """A training loop: allocations live for a while and are freed; frames and stacks are shared, as PyTorch shares them."""
    chance = random.Random(1)
    frames = [
        {"name": f"function_{n}", "filename": f"/srv/train/module_{n % 97}.py", "line": n % 900 + 1} for n in range(3000)
    ]
    pool = [[frames[chance.randrange(len(frames))] for _ in range(depth)] for _ in range(stacks)]
    trace, live, address, clock = [], [], 0x7F0000000000, 1_700_000_000_000_000
    while len(trace) < events:
        clock += chance.randrange(1, 30)
        if len(live) < 500 or chance.random() < 0.34:
            size = chance.choice((512, 4096, 65536, 1 << 20, 4 << 20))
            address += size
            entry = {"action": "alloc", "addr": address, "size": size, "stream": 0, "time_us": clock,
                     "compile_context": "N/A", "user_metadata": "", "frames": chance.choice(pool)}
            live.append((address, size))
            trace.append(entry)
        else:
            at, size = live.pop(chance.randrange(len(live)))
            for action in ("free_requested", "free_completed"):
                trace.append({"action": action, "addr": at, "size": size, "stream": 0, "time_us": clock,
                              "compile_context": "N/A", "user_metadata": "", "frames": chance.choice(pool)})
    return {"segments": [], "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}


def enlarged(events):
    """A recorded snapshot, its history repeated at other addresses and later times."""
    with gzip.open(RECORDED) as file:
        snapshot = pickle.load(file)
    once = snapshot["device_traces"][0]
    length = once[-1]["time_us"] - once[0]["time_us"] + 1
    trace = []
    for turn in range(-(-events // len(once))):
        shift, later = turn * (1 << 36), turn * length
        trace += [{**entry, "addr": entry["addr"] + shift, "time_us": entry["time_us"] + later} for entry in once]
    return {**snapshot, "device_traces": [trace[:events]], "segments": []}


def run(command):
    """Wall seconds, seconds of processors and peak bytes of one process."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        return None, None, None, error.decode("utf-8", "replace").strip().splitlines()[-1:]
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", required=True)
    parser.add_argument("--torch-python", help="a Python that can import torch")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("synthetic, 40-frame stacks", synthetic), ("recorded, repeated", enlarged)):
            path = os.path.join(folder, "snapshot.pickle")
            # In a child: what this process holds, its children would seem to hold as well.
            pid = os.fork()
            if pid == 0:
                with open(path, "wb") as file:
                    pickle.dump(make(options.events), file, protocol=4)
                os._exit(0)
            os.waitpid(pid, 0)
            load = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))"
            contenders = {
                "stepscope memory": [options.stepscope, "memory", path, "--by", "stack", "--format", "json"],
                "pickle.load alone": [sys.executable, "-c", load, path],
                "the same, gc.disable()": [sys.executable, "-c", f"import gc; gc.disable(); {load}", path],
            }
            if options.torch_python:
                viewer = [options.torch_python, "-m", "torch.cuda._memory_viz", "trace", path]
                contenders["torch's _memory_viz trace"] = viewer
            print(f"\n{name}: {options.events:,} events, {os.path.getsize(path) / MB:.1f} MB", flush=True)
            seen = {contender: [] for contender in contenders}
            for _ in range(options.rounds):
                for contender, command in contenders.items():
                    seen[contender].append(run(command))
            ours = None
            for contender, runs in seen.items():
                good = [each[:3] for each in runs if each[0] is not None]
                if not good:
                    print(f"  {contender:<28} failed: {' '.join(runs[-1][3])[:120]}")
                    continue
                wall, cpu, peak = (statistics.median(values) for values in zip(*good))
                ours = ours or (cpu, peak)
                compared = f"   {cpu / ours[0]:5.1f}x the CPU time, {peak / ours[1]:5.1f}x the memory"
                print(f"  {contender:<28} {wall:7.2f} s  {cpu:7.2f} s of CPU  {peak / MB:6.0f} MB{compared}")


if __name__ == "__main__":
    main()
