#!/usr/bin/env python3
"""Checks `stepscope.memory.record`, `snapshot` and the hook for running out of memory on a real GPU.

    python3 scripts/check_gpu_memory.py [FOLDER]

Needs PyTorch with a GPU and the package `stepscope`. Writes its snapshots into FOLDER (default: a temporary one), reads
them back with the package, and compares with what PyTorch says. Exit code 0: everything is as it should be.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile

import torch

import stepscope
import stepscope.memory

MB = 1 << 20
failed = []


def check(what: str, is_so: bool, seen: object = "") -> None:
    print("ok  " if is_so else "FAIL", what, seen)
    if not is_so:
        failed.append(what)


def ask(path: str, *options: str) -> dict:
    command = [sys.executable, "-m", "stepscope", "memory", path, *options, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr)
        return {}
    return json.loads(done.stdout)


def main() -> int:
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    print("torch", torch.__version__, "stepscope", stepscope.__version__, torch.cuda.get_device_name())
    steps, oom = os.path.join(folder, "steps.pickle.gz"), os.path.join(folder, "oom.pickle")
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    adam = torch.optim.AdamW(model.parameters())
    kept: list[torch.Tensor] = []
    levels: list[int] = []
    with stepscope.memory.record(50_000, path=steps) as recording:
        check("recording is on", recording.active)
        for _ in range(20):
            loss = model(torch.randn(512, 1024, device="cuda")).square().mean()
            loss.backward()
            adam.step()
            adam.zero_grad()
            kept.append(torch.empty(3 * MB, dtype=torch.uint8, device="cuda"))
            levels.append(torch.cuda.memory_allocated())
        allocated = torch.cuda.memory_allocated()
    check("a snapshot was saved", os.path.exists(steps))
    leaks = ask(steps, "--leaks")
    rows = leaks.get("leaks", [])
    check("one line leaks", len(rows) == 1, [(row["file"], row["line"]) for row in rows])
    if rows:
        growth = rows[0]["growth_bytes_each"]
        # The allocator rounds pieces up: by how much memory rose is PyTorch's to say.
        rose = (levels[-1] - levels[4]) / (len(levels) - 5)
        check("by what memory rose per iteration", abs(growth / rose - 1) < 0.02, (growth, rose))
        check("in this file", rows[0]["file"].endswith("check_gpu_memory.py"), rows[0]["file"])
    end = ask(steps, "--at", "end", "--by", "category")
    live = sum(row["live_bytes_then"] for row in end.get("live", []))
    # What was allocated before the recording began has no stack, but it is there.
    check("bytes at the end are PyTorch's", live == allocated, (live, allocated))
    kept.clear()

    old = stepscope.memory.record(enabled=True, max_entries=10_000, oom_path=oom)
    free, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(min(1.0, (torch.cuda.memory_reserved() + (1 << 30)) / total))
    held = []
    caught = ""
    try:
        while True:
            held.append(torch.empty(100 * MB, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError as error:
        caught = str(error)
    check("PyTorch's own error reaches the program", "out of memory" in caught, caught[:60])
    check("the hook saved a snapshot", os.path.exists(oom))
    if os.path.exists(oom):
        told = ask(oom, "--oom").get("out_of_memory", [])
        check("one request was refused", len(told) == 1, told)
        if told:
            check("for 100 MiB", told[0]["asked_bytes"] == 100 * MB, told[0]["asked_bytes"])
            check("by a shortage", told[0]["why"] == "shortage", told[0]["why"])
        with open(oom, "rb") as file:
            check("PyTorch can read it too", "segments" in pickle.load(file))
    old.stop()
    check("recording is off", not torch.cuda.memory._snapshot()["device_traces"][0] or not old.active)
    print(f"{len(failed)} failed" if failed else f"all is well; snapshots are in {folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
