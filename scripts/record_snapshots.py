#!/usr/bin/env python3
"""Records memory snapshots of small programs on a GPU, each in a process of its own, with PyTorch's statistics beside them.

python3 scripts/record_snapshots.py OUT_FOLDER [CASE ...]

Into OUT_FOLDER go CASE.pickle.gz and CASE.json: `memory_stats`, what an error said, and what PyTorch's own viewer counts.
"""

import gzip
import json
import os
import pickle
import subprocess
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

MB = 1 << 20
GB = 1 << 30
CASES = {}


def case(settings="", limit=None):
    """Adds a program. `settings` are the allocator's; `limit` is how many bytes it may take."""

    def register(program):
        CASES[program.__name__] = (program, settings, limit)
        return program

    return register


def block(width):
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


def train(steps, width=1024, layers=6, batch=4096, recompute=False, after=lambda loss, out: None):
    model = nn.ModuleList(block(width) for _ in range(layers)).cuda()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(steps):
        with torch.profiler.record_function(f"step {step}"):
            x = torch.randn(batch, width, device="cuda")
            with torch.autocast("cuda", torch.bfloat16):
                out = x
                for layer in model:
                    out = out + (checkpoint(layer, out, use_reentrant=False) if recompute else layer(out))
                loss = F.mse_loss(out, x)
            loss.backward()
            adam.step()
            adam.zero_grad()
            after(loss, out)


@case()
def activations_kept():
    train(4)


@case()
def activations_recomputed():
    train(4, recompute=True)


@case()
def loss_history():
    """The graph of every step is kept alive by its loss."""
    history = []
    train(8, layers=2, batch=1024, after=lambda loss, out: history.append(loss))
    torch.cuda.synchronize()


@case(limit=6 * GB)
def out_of_memory_by_shortage():
    train(4, batch=65536, layers=8)


@case(limit=4 * GB)
def out_of_memory_by_fragmentation():
    """Two pieces share a segment, and one of them goes: half the memory is free, and no segment is."""
    pieces = [torch.empty(9 * MB, dtype=torch.uint8, device="cuda") for _ in range(400)]
    del pieces[::2]
    torch.empty(1500 * MB, dtype=torch.uint8, device="cuda")


@case("expandable_segments:True", limit=4 * GB)
def expandable_segments():
    """Segments that grow, and give back what lies between others."""
    pieces = [torch.empty(100 * MB, dtype=torch.uint8, device="cuda") for _ in range(38)]
    del pieces[::2]
    wide = torch.empty(1500 * MB, dtype=torch.uint8, device="cuda")
    del wide
    train(2, layers=2, batch=1024)


@case()
def pending_frees():
    """Memory that a second stream still uses when it is freed."""
    side = torch.cuda.Stream()
    for _ in range(6):
        x = torch.randn(4096, 4096, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(50_000_000)
            y = x @ x
        x.record_stream(side)
        del x, y


@case()
def graph_pool():
    """A CUDA graph has a pool of its own."""
    model, x = block(1024).cuda().eval(), torch.randn(512, 1024, device="cuda")
    with torch.no_grad():
        for _ in range(2):
            model(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = model(x)
        for _ in range(3):
            graph.replay()
    torch.cuda.synchronize()
    return out, graph


@case()
def emptied_cache():
    train(4, layers=2, batch=2048, after=lambda loss, out: torch.cuda.empty_cache())


@case()
def ring_buffer():
    """More events than the history keeps."""
    train(12, layers=4, batch=512)


def record(name, folder):
    program, _, limit = CASES[name]
    torch.cuda.init()
    if limit:
        torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.get_device_properties(0).total_memory)
    torch.cuda.memory._record_memory_history(max_entries=1500 if name == "ring_buffer" else 100_000, stacks="python")
    error = None
    try:
        held = program()
    except torch.OutOfMemoryError as found:
        error, held = str(found), None
    if name == "pending_frees":
        snapshot, stats = torch.cuda.memory._snapshot(), torch.cuda.memory_stats()
    else:
        torch.cuda.synchronize()
        snapshot, stats = torch.cuda.memory._snapshot(), torch.cuda.memory_stats()
    with gzip.open(os.path.join(folder, name + ".pickle.gz"), "wb", compresslevel=9) as file:
        pickle.dump(snapshot, file)
    from torch.cuda import _memory_viz

    words = {}
    for view in ("segsum",):
        try:
            words[view] = getattr(_memory_viz, view)(snapshot)[:20_000]
        except Exception as found:  # A view that this version cannot make.
            words[view] = repr(found)
    answers = {"case": name, "torch": torch.__version__, "error": error, "limit": limit, "stats": stats, "viewer": words,
               "events": [len(events) for events in snapshot["device_traces"]]}
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump(answers, file, indent=1)
    print(name, answers["events"], (error or "")[:200], flush=True)
    del held


def main():
    folder, chosen = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    if len(chosen) == 1 and os.environ.get("STEPSCOPE_CASE") == chosen[0]:
        record(chosen[0], folder)
        return
    for name in chosen or CASES:
        around = os.environ | {"STEPSCOPE_CASE": name, "PYTORCH_CUDA_ALLOC_CONF": CASES[name][1],
                               "PYTORCH_ALLOC_CONF": CASES[name][1]}
        if not CASES[name][1]:
            around = {key: value for key, value in around.items() if not key.endswith("ALLOC_CONF")}
        subprocess.run([sys.executable, __file__, folder, name], env=around, check=False)


if __name__ == "__main__":
    main()
