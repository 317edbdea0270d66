"""Data-parallel training in two processes, the second of which prepares its batches slowly. For torchrun."""

from __future__ import annotations

import sys
import time

import torch
import torch.distributed as dist
from timed import Timed
from torch import nn

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
torch.set_num_threads(1)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def batch():
    if dist.get_rank() == 1:
        time.sleep(0.02)
    return torch.randn(64, 256)


timed = Timed()
for _ in range(STEPS):
    optimizer.zero_grad()
    model(batch()).square().mean().backward()
    optimizer.step()
    timed.iteration()
timed.report(rank=dist.get_rank())
dist.destroy_process_group()
