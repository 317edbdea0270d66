#!/usr/bin/env python3
"""Records the traces of fixtures/pytorch/2.11-h200-checkpointing.

Run on a machine with an NVIDIA GPU and PyTorch:  python3 scripts/record_checkpointing.py OUT_FOLDER
One small model, trained for two steps in four ways: activations kept; recomputed by torch.utils.checkpoint with
reentrant autograd; recomputed by its hooks; kept, with a gradient that is differentiated again.
"""

import gzip
import os
import shutil
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.checkpoint import checkpoint

OUT = sys.argv[1] if len(sys.argv) > 1 else "."
WIDTH, ROWS = 256, 512


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def record(kind):
    torch.manual_seed(0)
    blocks = nn.ModuleList([Block() for _ in range(2)]).cuda()
    head = nn.Linear(WIDTH, WIDTH).cuda()
    optimizer = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.01)

    def step():
        x = torch.randn(ROWS, WIDTH, device="cuda", requires_grad=True)
        y = x
        for block in blocks:
            if kind in ("kept", "create_graph"):
                y = block(y)
            else:
                y = checkpoint(block, y, use_reentrant=kind == "reentrant")
        loss = head(y).square().mean()
        if kind == "create_graph":
            (slope,) = torch.autograd.grad(loss, x, create_graph=True)
            loss = loss + slope.square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    both = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    steps = schedule(wait=0, warmup=1, active=2, repeat=1)
    with profile(activities=both, record_shapes=True, schedule=steps) as prof:
        for _ in range(3):
            step()
            torch.cuda.synchronize()
            prof.step()
    folder = os.path.join(OUT, kind)
    os.makedirs(folder, exist_ok=True)
    trace = os.path.join(folder, f"{kind}.pt.trace.json")
    prof.export_chrome_trace(trace)
    with open(trace, "rb") as plain, gzip.open(trace + ".gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(trace)


if __name__ == "__main__":
    for kind in ("kept", "reentrant", "hooks", "create_graph"):
        record(kind)
