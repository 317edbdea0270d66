#!/usr/bin/env python3
"""Records the traces of fixtures/pytorch/2.11-h200-features, with PyTorch's own answers beside them.

Run on a machine with an NVIDIA GPU and PyTorch:  python3 scripts/record_features.py OUT_FOLDER
Each case is a feature that the other fixtures lack; the docstring of its function says which.
"""

import csv
import gzip
import os
import shutil
import sys
import threading

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, record_function, schedule

OUT = sys.argv[1] if len(sys.argv) > 1 else "."
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
FIELDS = """cpu_time_total self_cpu_time_total device_time_total self_device_time_total cpu_memory_usage
self_cpu_memory_usage device_memory_usage self_device_memory_usage flops input_shapes device_type is_user_annotation
is_async stack overload_name""".split()


def save(prof, name):
    folder = os.path.join(OUT, name)
    os.makedirs(folder, exist_ok=True)
    trace = os.path.join(folder, f"{name}.pt.trace.json")
    prof.export_chrome_trace(trace)
    with open(trace, "rb") as plain, gzip.open(trace + ".gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(trace)
    groups = {
        "": {},
        "_by_shape": {"group_by_input_shape": True},
        "_by_stack5": {"group_by_stack_n": 5},
        "_by_overload": {"group_by_overload_name": True},
    }
    for suffix, how in groups.items():
        with open(os.path.join(folder, f"key_averages{suffix}.csv"), "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["key", "count", *FIELDS])
            for row in prof.key_averages(**how):
                out.writerow([row.key, row.count, *(getattr(row, field, "") for field in FIELDS)])


def flops_cpu():
    """Host only; every operator whose FLOPs PyTorch counts, in many shapes; lists of tensors."""
    with profile(activities=BOTH[:1], record_shapes=True, profile_memory=True, with_flops=True) as prof:
        for _ in range(3):
            a, b, c = torch.randn(4, 32, 48), torch.randn(4, 48, 16), torch.randn(4, 32, 16)
            torch.bmm(a, b), torch.baddbmm(c, a, b), torch.mm(a[0], b[0]), torch.addmm(c[0], a[0], b[0])
            a * a, a * 2.0, a + a, a + 1, torch.add(a, a, alpha=2), a.add_(1), a.mul_(3)
            x = torch.randn(2, 8, 20, 21)
            F.conv2d(x, torch.randn(12, 4, 3, 3), groups=2, padding=1, stride=2)
            F.conv2d(x, torch.randn(6, 8, 3, 5), dilation=2)
            F.conv2d(x, torch.randn(6, 8, 3, 3), padding="same")
            F.conv2d(x[0], torch.randn(12, 8, 3, 3))
            F.conv1d(torch.randn(2, 8, 20), torch.randn(4, 8, 3))
            F.conv_transpose2d(x, torch.randn(8, 4, 3, 3))
            F.linear(a, torch.randn(7, 48)), torch.matmul(a, b), torch.einsum("bij,bjk->bik", a, b)
            torch.cat([a, a]), torch.stack([a, a])
            heads = [torch.randn(1, 2, 8, 16) for _ in range(3)]
            F.scaled_dot_product_attention(*heads)
    save(prof, "flops_cpu")


def cuda_graph():
    """Kernels replayed from a CUDA graph: one launch, many kernels, no operator ids."""
    model = nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 512)).cuda().half()
    x = torch.randn(64, 512, device="cuda", dtype=torch.half)
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        steps = schedule(wait=0, warmup=1, active=4)
        with profile(activities=BOTH, record_shapes=True, profile_memory=True, schedule=steps,
                     on_trace_ready=lambda p: save(p, "cuda_graph")) as prof:
            for _ in range(5):
                with record_function("replay"):
                    graph.replay()
                y.sum().item()
                prof.step()


def threads():
    """Five threads that work at once, all of them profiled."""
    def work(number):
        a = torch.randn(512, 512, device="cuda")
        for _ in range(5):
            with record_function(f"worker{number}"):
                (a @ a).relu_().sum().item()

    config = _ExperimentalConfig(profile_all_threads=True)
    with profile(activities=BOTH, record_shapes=True, profile_memory=True, experimental_config=config) as prof:
        workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for worker in workers:
            worker.start()
        work(9)
        for worker in workers:
            worker.join()
    save(prof, "threads")


def overloads():
    """Overload names, call stacks in the arguments, nested ranges; the first use of each kernel is inside."""
    layers = [nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)]
    model = nn.Sequential(*layers).cuda()
    x = torch.randn(8, 3, 64, 64)
    config = _ExperimentalConfig(verbose=True, capture_overload_names=True)
    with profile(activities=BOTH, record_shapes=True, profile_memory=True, with_stack=True, with_flops=True,
                 experimental_config=config) as prof:
        for _ in range(3):
            with record_function("my range"), record_function("inner"):
                y = model(x.cuda())
                loss = F.cross_entropy(y, torch.randint(10, (8,), device="cuda"))
            loss.backward()
            torch.add(y, 1), torch.add(y, y)
            torch.cuda.synchronize()
    save(prof, "overloads")
    prof.export_stacks(os.path.join(OUT, "overloads", "stacks_self_cpu.txt"), "self_cpu_time_total")


def nccl():
    """DDP and collectives over NCCL, one rank: the arguments of collectives, ranges that end on another thread."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("nccl", device_id=torch.device("cuda:0"))
    model = nn.parallel.DistributedDataParallel(nn.Linear(1024, 1024).cuda())
    x = torch.randn(256, 1024, device="cuda")
    for _ in range(2):
        model(x).sum().backward()
    steps = schedule(wait=0, warmup=1, active=3)
    with profile(activities=BOTH, record_shapes=True, schedule=steps,
                 on_trace_ready=lambda p: save(p, "nccl")) as prof:
        for _ in range(4):
            model(x).sum().backward()
            t = torch.ones(1 << 20, device="cuda")
            dist.all_reduce(t)
            dist.all_gather_into_tensor(torch.empty(1 << 20, device="cuda"), t)
            prof.step()
    dist.destroy_process_group()


def compiled():
    """torch.compile: Triton kernels, compiled regions, with stacks and modules."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down, self.norm = nn.Linear(256, 1024), nn.Linear(1024, 256), nn.LayerNorm(256)

        def forward(self, x):
            return self.norm(x + self.down(F.gelu(self.up(x))))

    model = Net().cuda()
    fast = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    x = torch.randn(128, 256, device="cuda")

    def train():
        fast(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):
        train()
    steps = schedule(wait=0, warmup=1, active=3)
    with profile(activities=BOTH, record_shapes=True, profile_memory=True, with_stack=True, with_modules=True,
                 with_flops=True, schedule=steps, on_trace_ready=lambda p: save(p, "compiled")) as prof:
        for _ in range(4):
            train()
            prof.step()


if __name__ == "__main__":
    for case in (flops_cpu, cuda_graph, threads, overloads, nccl, compiled):
        case()
