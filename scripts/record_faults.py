#!/usr/bin/env python3
"""Records pairs of traces: a slow program with one planted fault, and its fixed twin.

Run on a machine with one NVIDIA GPU and PyTorch:
python3 scripts/record_faults.py OUT_FOLDER [--set development|held-out] [--only CASE ...]

The sets have the same faults in other programs: fixtures/pytorch/2.11-h200-faults is the development set, whose
recordings may be looked at while rules are written; fixtures/pytorch/2.11-h200-held-out is for checking them after.

Each case is a function of `faulty`; the two programs differ only where it is read. For each of them the script first
measures the speed without a profiler, then records a trace of a few steps. Into OUT_FOLDER/CASE go
`fault.pt.trace.json.gz`, `fixed.pt.trace.json.gz` and `answers.json`, the measured speeds.
"""

import argparse
import contextlib
import gc
import gzip
import itertools
import json
import math
import os
import platform
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
REPEATS = 3
SECONDS_PER_REPEAT = 1.0
WARM_UP_SECONDS = 0.5
SETS = {"development": {}, "held-out": {}}


# ---------------------------------------------------------------------------------------------------- the harness


@dataclass
class Case:
    """One pair. `cold` programs are measured from their first step on, over as many steps as are recorded.

    `settings` are further arguments of `build`.
    """

    build: Callable
    fault: str
    fix: str
    active: int = 4
    cold: bool = False
    options: dict = field(default_factory=dict)
    fixed_options: dict | None = None
    gain_of: str = "step_ms_unprofiled"
    settings: dict = field(default_factory=dict)


def case(held_out, **told):
    """Adds a case to both sets.

    The defaults of the function's arguments are the development set's; `held_out` has the other set's, and the fields
    of `Case` that are other there.
    """
    fields = {name: value for name, value in held_out.items() if name in Case.__dataclass_fields__}
    settings = {name: value for name, value in held_out.items() if name not in fields}

    def register(build):
        name = build.__name__
        SETS["development"][name] = Case(build, **told)
        SETS["held-out"][name] = Case(**({"build": build} | told | fields), settings=settings)
        return build

    return register


@contextlib.contextmanager
def fresh_program(it, faulty):
    """Builds a program in the settings all cases share, and clears up after it. Gives its step and samples per step."""
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    with contextlib.ExitStack() as stack:
        if it.cold:  # Only these compile.
            from torch._inductor.utils import fresh_cache

            torch.compiler.reset()
            stack.enter_context(fresh_cache())
        yield it.build(faulty, **it.settings)
    gc.unfreeze()
    gc.collect()
    torch.cuda.empty_cache()


def seconds_per_step(step, count):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def measure(it, step):
    """Milliseconds a step without a profiler, once for each repeat, and over how many steps each was measured."""
    seconds_per_step(step, it.active)
    rough = seconds_per_step(step, it.active)
    seconds_per_step(step, math.ceil(WARM_UP_SECONDS / rough))
    count = it.active * math.ceil(SECONDS_PER_REPEAT / rough / it.active)
    return [1e3 * seconds_per_step(step, count) for _ in range(REPEATS)], count


def measure_cold(it, faulty):
    """The same for a program whose first steps are the ones in question; the first repeat warms the compiler up."""
    repeats = []
    for _ in range(1 + REPEATS):
        with fresh_program(it, faulty) as (step, _):
            repeats.append(1e3 * seconds_per_step(step, it.active))
    return repeats[1:], it.active


def record(it, step, options, trace):
    """Records `active` steps into the file `trace`, after warm-up steps that a cold program goes without."""
    wait, warm = (0, 1) if it.cold else (1, 3)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=False, **options,
                 schedule=schedule(wait=wait, warmup=warm, active=it.active, repeat=1)) as prof:
        for number in range(wait + warm + it.active):
            if not it.cold or number >= wait + warm:
                step()
            prof.step()
    plain = trace.removesuffix(".gz")
    prof.export_chrome_trace(plain)
    with open(plain, "rb") as file:
        text = file.read()
    os.remove(plain)
    with open(trace, "wb") as file:
        file.write(gzip.compress(text, 9, mtime=0))
    return profiled_step_ms(json.loads(text)["traceEvents"])


def profiled_step_ms(events):
    """Wall time a step in a trace: from where its steps begin (or the device work of earlier ones ends) to the end."""
    spans = [e for e in events if e.get("ph") == "X"]
    steps = [e for e in spans if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    device = [e for e in spans if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    begin = min(e["ts"] for e in steps)
    calls = {e["args"].get("correlation") for e in spans if e["cat"].startswith("cuda_") and e["ts"] >= begin}
    own = [e for e in device if e["args"].get("correlation") in calls]
    before = [e for e in device if e["args"].get("correlation") not in calls]
    begin = max([begin] + [e["ts"] + e["dur"] for e in before])
    end = max(e["ts"] + e["dur"] for e in steps + own)
    return (end - begin) / len(steps) / 1e3


def trace_of(name, variant):
    return os.path.join(name, f"{variant}.pt.trace.json.gz")


def run(name, it):
    """Measures and records both programs of a case."""
    os.makedirs(name, exist_ok=True)
    answers = {
        "case": name, "fault_is": it.fault, "fix_is": it.fix,
        "torch": torch.__version__, "cuda": torch.version.cuda, "gpu": torch.cuda.get_device_name(),
        "python": platform.python_version(), "steps_recorded": it.active, "repeats": REPEATS,
    }
    for variant in ("fault", "fixed"):
        faulty = variant == "fault"
        options = {"record_shapes": True} | it.options
        if not faulty and it.fixed_options is not None:
            options = it.fixed_options
        if it.cold:
            repeats, count = measure_cold(it, faulty)
        with fresh_program(it, faulty) as (step, samples):
            if not it.cold:
                repeats, count = measure(it, step)
            torch.cuda.synchronize()
            profiled = record(it, step, options, trace_of(name, variant))
            del step
        answers[variant] = {
            "step_ms_unprofiled": round(statistics.median(repeats), 4),
            "step_ms_unprofiled_repeats": [round(ms, 4) for ms in repeats],
            "steps_measured": count,
            "step_ms_profiled": round(profiled, 4),
            "samples_per_step": samples,
            "profiler": options,
        }
    for how in ("unprofiled", "profiled"):
        per_sample = [answers[v][f"step_ms_{how}"] / answers[v]["samples_per_step"] for v in ("fault", "fixed")]
        answers[f"gain_{how}"] = round(per_sample[0] / per_sample[1], 4)
    answers["gain"] = answers[it.gain_of.replace("step_ms", "gain")]
    with open(os.path.join(name, "answers.json"), "w") as file:
        json.dump(answers, file, indent=2)
        file.write("\n")
    report(name, answers)


def report(name, answers):
    words = [f"{name:20}"]
    for variant in ("fault", "fixed"):
        told = answers[variant]
        size = os.path.getsize(trace_of(name, variant))
        words.append(f"{variant} {told['step_ms_unprofiled']:.3f} ms, profiled {told['step_ms_profiled']:.3f} ms, "
                     f"{size // 1000} kB;")
    print(*words, f"gain {answers['gain_unprofiled']:.2f}, profiled {answers['gain_profiled']:.2f}", flush=True)


# ------------------------------------------------------------------------------------------------- building blocks


def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


class MLP(nn.Module):
    """The residual half of a transformer block that mixes features."""

    def __init__(self, width, activation=tanh_gelu):
        super().__init__()
        self.norm, self.activation = nn.LayerNorm(width), activation
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(self.activation(self.up(self.norm(x))))


def mlps(width, layers, activation=tanh_gelu):
    return nn.Sequential(*(MLP(width, activation) for _ in range(layers)))


def swiglu(gate, x):
    return F.silu(gate) * x


class GatedMLP(nn.Module):
    """The same with a gate, as Llama has it."""

    def __init__(self, width, hidden, activation=swiglu):
        super().__init__()
        self.norm, self.activation = nn.RMSNorm(width), activation
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(self.activation(self.gate(y), self.up(y)))


def gated_mlps(width, hidden, layers, activation=swiglu):
    return nn.Sequential(*(GatedMLP(width, hidden, activation) for _ in range(layers)))


class Attention(nn.Module):
    """The residual half of a transformer block that mixes positions."""

    def __init__(self, width, attend=F.scaled_dot_product_attention, head=64, norm=nn.LayerNorm, bias=True):
        super().__init__()
        self.norm, self.attend, self.head = norm(width), attend, head
        self.qkv, self.out = nn.Linear(width, 3 * width, bias), nn.Linear(width, width, bias)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, -1, self.head)).permute(2, 0, 3, 1, 4)
        return x + self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))


def transformer(width, layers, **attention):
    return nn.Sequential(*(half for _ in range(layers) for half in (Attention(width, **attention), MLP(width))))


def causal_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def decoder(width, hidden, layers, head, attend=causal_attention):
    """A causal transformer of Llama's blocks."""
    return nn.Sequential(*(half for _ in range(layers) for half in (
        Attention(width, attend, head, nn.RMSNorm, bias=False), GatedMLP(width, hidden))))


class ConvBlock(nn.Module):
    """A residual block of two convolutions."""

    def __init__(self, width, norm):
        super().__init__()
        bias = norm is nn.Identity  # A norm has its own.
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=bias) for _ in range(2))
        self.norms = nn.ModuleList(norm(width) for _ in range(2))

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(x + self.norms[1](self.second(y)))


def conv_net(width, norm, kernel=7, stages=2):
    layers = [nn.Conv2d(3, width, kernel, stride=2, padding=kernel // 2, bias=norm is nn.Identity), norm(width),
              nn.ReLU(), ConvBlock(width, norm)]
    for _ in range(stages - 1):
        layers += [nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), ConvBlock(2 * width, norm)]
        width *= 2
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


def noise(*shape, dtype=BF16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def trainer(model, autocast=None, loss=F.mse_loss, optimizer=torch.optim.AdamW, **options):
    """A training step: forward, backward, fused optimizer; it never waits for the GPU.

    `autocast` is the type to compute in, if not the weights' own; gradients of float16 are scaled.
    """
    optimizer = optimizer(model.parameters(), lr=1e-5, **({"fused": True} | options))
    scaler = torch.amp.GradScaler("cuda") if autocast is FP16 else None

    def step(inputs, targets):
        with torch.autocast("cuda", autocast or BF16, enabled=autocast is not None):
            value = loss(model(inputs), targets)
        if scaler is None:
            value.backward()
            optimizer.step()
        else:
            scaler.scale(value).backward()
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad()

    return step


def training(model, *shape, dtype=BF16, weights=None, **how):
    """A program that learns to map noise to noise."""
    train = trainer(model.cuda().to(weights or dtype), **how)
    x, y = noise(*shape, dtype=dtype), noise(*shape, dtype=dtype)
    return lambda: train(x, y), len(x)


def conv_training(net, batch=128, side=224, layout=torch.channels_last, autocast=BF16, **how):
    """A program that learns to classify noise."""
    train = trainer(net.cuda().to(memory_format=layout), autocast, loss=F.cross_entropy, **how)
    x = noise(batch, 3, side, side).to(memory_format=layout)
    y = torch.randint(1000, (batch,), device="cuda")
    return lambda: train(x, y), len(x)


# ------------------------------------------------------------------------------------------------------- the cases


def clipped_training(faulty):
    model = transformer(768, 2).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(40, 384, 768), noise(40, 384, 768)

    def step():
        F.mse_loss(model(x), y).backward()
        if faulty:
            norm = math.sqrt(sum(weight.grad.norm().item() ** 2 for weight in model.parameters()))
            if norm > 1:
                for weight in model.parameters():
                    weight.grad /= norm
        else:
            nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
        adam.zero_grad()

    return step, len(x)


@case(fault="the largest value of each of 16 groups of channels is read with .item() after every layer: the host waits "
            "for the GPU, and then the GPU for the host",
      fix="the values stay on the GPU and go to pinned memory once a step, without waiting",
      options={"with_stack": True},
      held_out=dict(build=clipped_training, options={},
                    fault="gradients are clipped by hand, with an .item() for the norm of each parameter's: the host "
                          "waits for the GPU, and then the GPU for the host",
                    fix="torch.nn.utils.clip_grad_norm_, which leaves the norms on the GPU"))
def item_sync(faulty):
    class Watched(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(MLP(1024) for _ in range(2))
            self.log = torch.empty(32, dtype=BF16, pin_memory=True)

        def forward(self, x):
            peaks = []
            for block in self.blocks:
                x = block(x)
                for group in x.detach().unflatten(-1, (16, -1)).unbind(-2):
                    peak = group.amax()
                    peaks.append(peak.item() if faulty else peak)
            if not faulty:
                self.log.copy_(torch.stack(peaks), non_blocking=True)
            return x

    train = trainer(Watched().cuda().to(BF16))
    x, y = noise(24576, 1024), noise(24576, 1024)
    return lambda: train(x, y), len(x)


class Prefetcher:
    """Uploads the next batch on a stream of its own while the current one is in use."""

    def __init__(self, batches):
        self.batches, self.stream = itertools.cycle(batches), torch.cuda.Stream()
        self.upload()

    def upload(self):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.batch = next(self.batches).to("cuda", non_blocking=True)

    def __call__(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        batch.record_stream(torch.cuda.current_stream())
        self.upload()
        return batch


def denoiser(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), ConvBlock(width, nn.Identity),
                         nn.Conv2d(width, 3, 3, padding=1)).to(memory_format=torch.channels_last)


@case(fault="each step's batch is copied from pageable memory, which is slow and makes the host wait",
      fix="the batches lie in pinned memory and the next is uploaded on a side stream meanwhile",
      held_out=dict(fault="each step's batch of float32 pictures is copied from pageable memory, which is slow and "
                          "makes the host wait",
                    model=lambda: denoiser(64), shape=(64, 3, 256, 256), dtype=FP32, autocast=BF16))
def pageable_copy(faulty, model=lambda: mlps(2048, 2), shape=(16384, 2048), dtype=BF16, autocast=None):
    batches = [torch.randn(*shape).to(dtype) for _ in range(3)]
    if faulty:
        turn = itertools.cycle(batches)

        def fetch():
            return next(turn).to("cuda")
    else:
        fetch = Prefetcher([batch.pin_memory() for batch in batches])
    train = trainer(model().cuda().to(dtype), autocast)
    y = noise(*shape, dtype=dtype)
    return lambda: train(fetch(), y), len(y)


@case(fault="a transformer is trained in float32 with exact matrix products, so without tensor cores",
      fix="bfloat16 autocast",
      held_out=dict(fault="a causal transformer with gated MLPs is trained in float32 with exact matrix products, so "
                          "without tensor cores",
                    fix="float16 autocast and scaled gradients", active=3,
                    model=lambda: decoder(768, 2048, 2, head=96), shape=(48, 768, 768), half=FP16))
def fp32_matmul(faulty, model=lambda: transformer(512, 2), shape=(64, 1024, 512), half=BF16):
    torch.set_float32_matmul_precision("highest")
    return training(model(), *shape, dtype=FP32, autocast=None if faulty else half)


def autoencoder(width, hidden):
    return nn.Sequential(nn.Linear(width, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
                         nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, width))


@case(fault="an MLP is trained in float32 with exact matrix products, so without tensor cores",
      fix='torch.set_float32_matmul_precision("high"): TF32',
      held_out=dict(fault="an autoencoder with batch norms is trained with SGD in float32 with exact matrix products, "
                          "so without tensor cores",
                    program=lambda: training(autoencoder(1280, 2560), 12288, 1280, dtype=FP32,
                                             optimizer=torch.optim.SGD, momentum=0.9)))
def tf32_off(faulty, program=lambda: training(mlps(1024, 3), 8192, 1024, dtype=FP32)):
    torch.set_float32_matmul_precision("highest" if faulty else "high")
    return program()


def hand_written_gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def hand_written_exact_gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


@case(fault="GELU is written out in tensor arithmetic: a kernel and a pass over memory for every operation",
      fix='F.gelu(approximate="tanh")',
      held_out=dict(fault="exact GELU, with erf, is written out in tensor arithmetic under float16 autocast: a kernel "
                          "and a pass over memory for every operation",
                    fix="F.gelu", active=3, by_hand=hand_written_exact_gelu, built_in=F.gelu,
                    program=lambda activation: training(mlps(768, 3, activation), 20480, 768, dtype=FP32,
                                                        autocast=FP16)))
def manual_gelu(faulty, by_hand=hand_written_gelu, built_in=tanh_gelu,
                program=lambda activation: training(mlps(1024, 3, activation), 16384, 1024)):
    return program(by_hand if faulty else built_in)


@case(fault="a convolution net runs on NCHW tensors, which cuDNN transposes for its tensor core kernels",
      fix="model and input in torch.channels_last",
      held_out=dict(fault="a convolution net in float16 runs on NCHW tensors, which cuDNN transposes for its tensor "
                          "core kernels", active=3,
                    net=lambda: conv_net(80, nn.Identity, kernel=5), batch=96, side=256, autocast=FP16))
def conv_nchw(faulty, net=lambda: conv_net(64, nn.Identity), **how):
    return conv_training(net(), layout=torch.contiguous_format if faulty else torch.channels_last, **how)


@case(fault="a net of convolutions and batch norms runs on NCHW tensors: transposes, and slow norm kernels besides",
      fix="model and input in torch.channels_last",
      held_out=dict(fault="a net of three stages of convolutions and batch norms, trained with SGD, runs on NCHW "
                          "tensors: transposes, and slow norm kernels besides", active=2,
                    net=lambda: conv_net(48, nn.BatchNorm2d, kernel=3, stages=3), batch=160, side=192,
                    optimizer=torch.optim.SGD, momentum=0.9, nesterov=True))
def conv_nchw_norm(faulty, net=lambda: conv_net(64, nn.BatchNorm2d), **how):
    return conv_training(net(), layout=torch.contiguous_format if faulty else torch.channels_last, **how)


@case(fault="torch.cuda.empty_cache() in every step, so the memory is asked of the driver anew in each",
      fix="no such call", options={"profile_memory": True},
      held_out=dict(fault="torch.cuda.empty_cache() in every step of a convolution net, so the memory is asked of the "
                          "driver anew in each", active=3,
                    program=lambda: conv_training(conv_net(64, nn.BatchNorm2d, kernel=5), 192, 160, autocast=FP16)))
def alloc_churn(faulty, program=lambda: training(transformer(1024, 2), 16, 1024, 1024)):
    train, samples = program()

    def step():
        train()
        if faulty:
            torch.cuda.empty_cache()

    return step, samples


@case(fault="a batch of 8, whose kernels end sooner than the host can launch them", fix="a batch of 64",
      held_out=dict(fault="a batch of 12 pictures, whose kernels end sooner than the host can launch them",
                    fix="a batch of 96", active=3, small=12, large=96,
                    program=lambda batch: conv_training(conv_net(96, nn.BatchNorm2d), batch, 192)))
def small_batch(faulty, small=8, large=64, program=lambda batch: training(transformer(1024, 2), batch, 512, 1024)):
    return program(small if faulty else large)


class Recurrent(nn.Module):
    """A recurrent net, unrolled in Python."""

    def __init__(self, width):
        super().__init__()
        self.cell = nn.GRUCell(width, width)

    def forward(self, x):
        state = torch.zeros_like(x[:, 0])
        for moment in x.unbind(1):
            state = self.cell(moment, state)
        return state


@case(fault="inference in many small kernels, launched one by one", fix="the same kernels replayed from a CUDA graph",
      active=6,
      held_out=dict(fault="a recurrent net unrolled in Python runs in many small kernels, launched one by one",
                    active=5, net=lambda: Recurrent(512), shape=(64, 32, 512)))
def launch_bound(faulty, net=lambda: transformer(768, 4), shape=(32, 64, 768)):
    model = net().cuda().to(BF16).eval()
    batch = noise(*shape)
    x = batch.clone()

    @torch.no_grad()
    def step():
        x.copy_(batch)
        return model(x)

    if faulty:
        return step, len(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay():
        graph.replay()
        return result

    return replay, len(x)


def compiled(function, **how):
    """A pointwise function, compiled. No trials of several configurations, to keep the recording small."""
    import torch._inductor.config

    torch._inductor.config.triton.autotune_pointwise = False
    torch.compile(lambda x: x.sin() + 1)(torch.ones(64, device="cuda"))  # The compiler's own start is in no step.
    return torch.compile(function, **how)


@case(fault="the first of five recorded steps compiles a function", fix="three steps before the recording", active=5,
      cold=True,
      held_out=dict(fault="the first of four recorded steps compiles the gate of the MLPs",
                    fix="two steps before the recording", active=4, function=swiglu, warm=2,
                    program=lambda gate: training(gated_mlps(1280, 3456, 2, gate), 24576, 1280)))
def first_step_compile(faulty, function=hand_written_gelu, warm=3,
                       program=lambda activation: training(mlps(1024, 2, activation), 32768, 1024)):
    train, samples = program(compiled(function))
    if not faulty:
        for _ in range(warm):
            train()
    return train, samples


@case(fault="torch.compile(dynamic=False) and a new length in every step: each compiles again",
      fix="torch.compile(dynamic=True): one program for all lengths", cold=True,
      held_out=dict(fault="torch.compile(dynamic=False) and a new length of the batch's sentences in every step: each "
                          "compiles again", active=5, function=hand_written_exact_gelu, width=768,
                    shapes=[(48, length, 768) for length in range(512, 384, -16)]))
def recompile(faulty, function=hand_written_gelu, width=1024,
              shapes=[(length, 1024) for length in range(32768, 28672, -512)]):
    model = mlps(width, 2, compiled(function, dynamic=not faulty)).cuda().to(BF16)
    batches = itertools.cycle([noise(*shape) for shape in shapes])

    @torch.no_grad()
    def step():
        model(next(batches))

    for _ in range(2):
        step()
    return step, 1


def attention_by_hand(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), -1) @ v


def causal_attention_by_hand(q, k, v):
    future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
    scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(future, -math.inf)
    return torch.softmax(scores, -1) @ v


@case(fault="attention written as softmax(QK')V, which stores the whole matrix of scores",
      fix="F.scaled_dot_product_attention",
      held_out=dict(fault="causal attention written as softmax(masked QK')V, which stores the whole matrix of scores",
                    fix="F.scaled_dot_product_attention(is_causal=True)", active=3,
                    by_hand=causal_attention_by_hand, built_in=causal_attention,
                    program=lambda attend: training(decoder(1024, 2816, 2, 128, attend), 10, 1536, 1024)))
def math_attention(faulty, by_hand=attention_by_hand, built_in=F.scaled_dot_product_attention,
                   program=lambda attend: training(transformer(1024, 2, attend=attend), 8, 2048, 1024)):
    return program(by_hand if faulty else built_in)


@case(fault="AdamW(foreach=False): eight kernels a parameter, each a pass over memory", fix="AdamW(fused=True)",
      held_out=dict(fault="SGD(foreach=False) with Nesterov's momentum and weight decay: five kernels a parameter, "
                          "each a pass over memory", fix="SGD(fused=True)",
                    program=lambda **how: training(gated_mlps(3072, 8192, 2), 512, 3072, dtype=FP32, autocast=BF16,
                                                   optimizer=torch.optim.SGD, momentum=0.9, nesterov=True,
                                                   weight_decay=0.01, **how)))
def loop_optimizer(faulty, program=lambda **how: training(mlps(4096, 3), 1024, 4096, weights=FP32, autocast=BF16,
                                                          **how)):
    return program(**({"fused": False, "foreach": False} if faulty else {"fused": True}))


def standardised_training(faulty):
    model = nn.Sequential(nn.Linear(128, 1024), *gated_mlps(1024, 2816, 2), nn.Linear(1024, 128))
    train = trainer(model.cuda().to(BF16))
    x, y = noise(16384, 128, dtype=FP32), noise(16384, 128)

    def standardised():
        if faulty:
            numbers = x.cpu().numpy()
            return torch.from_numpy((numbers - numbers.mean(0)) / numbers.std(0)).cuda()
        return (x - x.mean(0)) / x.std(0)

    return lambda: train(standardised().to(BF16), y), len(x)


@case(fault="an activation goes to the CPU to be clamped and back, and so does its gradient",
      fix="it is clamped on the GPU",
      held_out=dict(build=standardised_training,
                    fault="the inputs go to the CPU, are standardised in NumPy, and go back",
                    fix="they are standardised on the GPU"))
def ping_pong(faulty):
    class Clamped(nn.Module):
        def forward(self, x):
            return x.cpu().clamp(-10, 10).cuda() if faulty else x.clamp(-10, 10)

    bottleneck = nn.Linear(1024, 512), Clamped(), nn.Linear(512, 1024)
    train = trainer(nn.Sequential(MLP(1024), MLP(1024), *bottleneck, MLP(1024), MLP(1024)).cuda().to(BF16))
    x, y = noise(16384, 1024), noise(16384, 1024)
    return lambda: train(x, y), len(x)


def language_training(vocabulary):
    model = nn.Sequential(MLP(1024), nn.LayerNorm(1024), nn.Linear(1024, vocabulary, bias=False)).cuda().to(BF16)
    train = trainer(model, loss=F.cross_entropy)
    x, y = noise(8192, 1024), torch.randint(50257, (8192,), device="cuda")
    return lambda: train(x, y), len(x)


@case(fault="a vocabulary of 50257, so the matrices' rows are not aligned for the tensor cores' fast loads",
      fix="the vocabulary padded to 50304, a multiple of 64",
      held_out=dict(fault="gated MLPs 2731 wide, 8/3 of 1024, so the matrices' rows are not aligned for the tensor "
                          "cores' fast loads", fix="their width padded to 2752, a multiple of 64",
                    odd=2731, padded=2752,
                    program=lambda hidden: training(gated_mlps(1024, hidden, 3), 16384, 1024)))
def odd_gemm(faulty, odd=50257, padded=50304, program=language_training):
    return program(odd if faulty else padded)


@dataclass
class Sample:
    number: int
    label: int


@case(fault="every fourth step calls gc.collect() in a program that holds many objects", fix="no such call", active=8,
      options={"with_stack": True},
      held_out=dict(fault="every third step calls gc.collect() in a program that holds a list of many samples",
                    active=6, every=3, hold=lambda: [Sample(number, number % 10) for number in range(600_000)],
                    program=lambda: training(gated_mlps(1280, 3456, 2), 12288, 1280)))
def gc_pause(faulty, every=4, hold=lambda: [[number] for number in range(1_000_000)],
             program=lambda: training(mlps(1024, 2), 32768, 1024)):
    gc.freeze()  # Leaves the objects of the libraries out: the pause does not depend on what was imported.
    objects = hold()
    train, samples = program()
    numbers = itertools.count()

    def step():
        train()
        if faulty and next(numbers) % every == every - 1:
            gc.collect()
        return len(objects)

    return step, samples


class Photos(torch.utils.data.Dataset):
    """Pictures that are costly to prepare, as decoding and augmentation are."""

    def __init__(self, side):
        self.raw = np.random.default_rng(0).integers(0, 256, (64, side, side, 3), dtype=np.uint8)

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        picture = (self.raw[index % len(self.raw)].astype(np.float32) / 255) ** (0.8 + index % 5 / 10)
        return (picture[:, ::-1] - 0.45) / 0.225


class Sounds(torch.utils.data.Dataset):
    """Spectrograms of two seconds of sound each: windows of 32 ms, one every 10 ms."""

    def __init__(self):
        self.raw = np.random.default_rng(0).standard_normal((64, 32_000), dtype=np.float32)
        self.shape = np.hanning(512).astype(np.float32)

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        windows = np.lib.stride_tricks.sliding_window_view(self.raw[index % len(self.raw)], 512)[::160]
        return np.log(np.abs(np.fft.rfft(windows * self.shape)[:, :256]) + 1e-6)


def learn_photos(batch):
    model = conv_net(192, nn.BatchNorm2d).cuda().to(memory_format=torch.channels_last)
    train = trainer(model, autocast=BF16, loss=F.cross_entropy)
    y = torch.randint(1000, (batch,), device="cuda")
    return lambda pictures: train(pictures.permute(0, 3, 1, 2), y)


def learn_sounds(batch):
    model = nn.Sequential(nn.Linear(256, 1280), *transformer(1280, 2), nn.Linear(1280, 1000)).cuda()
    train = trainer(model, autocast=BF16, loss=lambda x, y: F.cross_entropy(x.mean(1), y))
    y = torch.randint(1000, (batch,), device="cuda")
    return lambda sounds: train(sounds, y)


@case(fault="DataLoader(num_workers=0): the training loop prepares the pictures itself",
      fix="num_workers=12: other processes do, ahead of time",
      held_out=dict(fault="DataLoader(num_workers=0): the training loop computes the spectrograms of sounds itself",
                    fix="num_workers=10: other processes do, ahead of time", active=3,
                    data=Sounds, batch=56, workers=10, learner=learn_sounds))
def slow_loader(faulty, data=lambda: Photos(160), batch=64, workers=12, learner=learn_photos):
    how = {"num_workers": 0} if faulty else {"num_workers": workers, "prefetch_factor": 4}
    batches = iter(torch.utils.data.DataLoader(data(), batch_size=batch, pin_memory=True, **how))
    learn = learner(batch)
    return lambda: learn(next(batches).to("cuda", non_blocking=True)), batch


@case(fault="recorded with shapes, stacks and memory, which slows the host down",
      fix="the same program recorded with none of them",
      options={"with_stack": True, "profile_memory": True}, fixed_options={}, gain_of="step_ms_profiled",
      held_out=dict(net=lambda: decoder(384, 1024, 3, head=32), shape=(4, 64, 384)))
def with_stack_overhead(faulty, net=lambda: transformer(512, 4), shape=(16, 128, 512)):
    model = net().cuda().to(BF16).eval()
    x = noise(*shape)

    @torch.no_grad()
    def step():
        model(x)

    return step, len(x)


def weighted_error(outputs, targets, weights):
    return ((outputs - targets).square().mean((1, 2)) * weights).mean()


def standardised_error(outputs, targets, told):
    mean, deviation = told[:, :, None, None].unbind(1)
    return (outputs - (targets - mean) / deviation).square().mean()


@case(fault="the weights of the samples are uploaded number by number with torch.tensor(device='cuda')",
      fix="one upload of all of them from pinned memory",
      held_out=dict(fault="the means and deviations of the samples are uploaded pair by pair with "
                          "torch.tensor(device='cuda')", active=3,
                    numbers=[[index / 72, 1 + index / 72] for index in range(72)], error=standardised_error,
                    net=lambda: gated_mlps(896, 2304, 2), shape=(72, 320, 896)))
def many_small_copies(faulty, numbers=[1 + index / 96 for index in range(96)], error=weighted_error,
                      net=lambda: mlps(1024, 2), shape=(96, 256, 1024)):
    model = net().cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(*shape), noise(*shape)

    def step():
        if faulty:
            uploaded = torch.stack([torch.tensor(number, device="cuda") for number in numbers])
        else:
            uploaded = torch.tensor(numbers, pin_memory=True).to("cuda", non_blocking=True)
        error(model(x), y, uploaded).backward()
        adam.step()
        adam.zero_grad()

    return step, len(x)


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("out", metavar="OUT_FOLDER")
    words.add_argument("--set", choices=SETS, default="development")
    words.add_argument("--only", metavar="CASE", nargs="+", choices=SETS["development"],
                       default=list(SETS["development"]))
    asked = words.parse_args()
    os.makedirs(asked.out, exist_ok=True)
    os.chdir(asked.out)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):  # The profiler's own start.
        torch.ones(1, device="cuda")
    failed = []
    for name in asked.only:
        try:
            run(name, SETS[asked.set][name])
        except Exception:
            traceback.print_exc()
            failed.append(name)
            gc.collect()
            torch.cuda.empty_cache()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
