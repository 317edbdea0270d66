#!/usr/bin/env python3
"""Records the trace of fixtures/pytorch/2.15-cpu-compile: a compiled model that breaks its graph twice in every step.

Run on any machine with PyTorch and a C++ compiler:  python3 scripts/record_graph_break.py OUT_FILE
The value that `item()` returns becomes a constant of the code behind the break, so every step compiles that again.
"""

import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule


class Net(nn.Module):
    """Two layers, and what cannot be compiled between them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x):
        """Breaks at print() and at item()."""
        y = torch.relu(self.first(x)) * 2
        print(end="")
        y = y + y.sum().item()
        return torch.tanh(self.second(y) + 1)


def main():
    """Two steps to warm up, then three that are recorded."""
    torch.manual_seed(0)
    net = torch.compile(Net(), dynamic=False)

    def step():
        net(torch.randn(8, 64)).sum().backward()

    def save(prof):
        prof.export_chrome_trace(sys.argv[1])

    step()
    step()
    plan = schedule(wait=0, warmup=1, active=3, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=save, record_shapes=True) as prof:
        for _ in range(4):
            step()
            prof.step()


main()
