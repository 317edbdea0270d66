"""A third program for most faults: other sizes, and where it is easy another way to make the same mistake."""

from dataclasses import replace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from . import faults, more_faults  # noqa: F401 (the second registers its pairs)
from .blocks import (
    BF16, FP32, MLP, causal_attention, conv_net, decoder, gated_mlps, mlps, noise, trainer, training, transformer,
)
from .harness import SETS


def fresh(name, **told):
    """The pair of that name that may be looked at, with other settings or another builder."""
    first = SETS["seen"][name]
    fields = {key: value for key, value in told.items() if key in type(first).__dataclass_fields__}
    settings = {key: value for key, value in told.items() if key not in fields}
    SETS["fresh"][name] = replace(first, settings=settings, **fields)


def watched_gradients(faulty):
    model = mlps(1536, 2).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(8192, 1536), noise(8192, 1536)
    weights = list(model.parameters())
    log = torch.empty(len(weights), dtype=BF16, pin_memory=True)

    def step():
        F.mse_loss(model(x), y).backward()
        if faulty:
            for place, weight in enumerate(weights):
                log[place] = weight.grad.norm().item()
        else:
            log.copy_(torch.stack(torch._foreach_norm([weight.grad for weight in weights])), non_blocking=True)
        adam.step()
        adam.zero_grad()

    return step, len(x)


def swish_by_hand(x):
    return x / (1 + torch.exp(-x))


def masked_attention_by_hand(q, k, v):
    length = q.shape[-2]
    hidden = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    scores = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).masked_fill(hidden, float("-inf"))
    return torch.softmax(scores, -1) @ v


def sorted_on_the_host(faulty):
    class Ranked(nn.Module):
        def forward(self, x):
            return x.cpu().relu().cuda() if faulty else x.relu()

    model = nn.Sequential(MLP(1536), nn.Linear(1536, 384), Ranked(), nn.Linear(384, 1536), MLP(1536))
    return training(model, 12288, 1536)


def spectra(faulty):
    choose = np.random.default_rng(0)
    signals = choose.standard_normal((48, 16384)).astype(np.float32)
    window = np.hanning(512).astype(np.float32)
    model = nn.Sequential(nn.Linear(257, 768), *transformer(768, 2)).cuda().to(BF16)
    train = trainer(model)
    y, on_gpu = noise(48, 127, 768), torch.from_numpy(signals).cuda()
    gpu_window = torch.from_numpy(window).cuda()

    def by_numpy():
        rows = []
        for signal in signals:
            frames = np.lib.stride_tricks.sliding_window_view(signal, 512)[::125][:127]
            rows.append(np.log1p(np.abs(np.fft.rfft(frames * window, axis=-1))).astype(np.float32))
        return torch.from_numpy(np.stack(rows)).pin_memory().to("cuda", non_blocking=True)

    def step():
        if faulty:
            x = by_numpy()
        else:
            x = torch.fft.rfft(on_gpu.unfold(-1, 512, 125)[:, :127] * gpu_window).abs().log1p()
        train(x.to(BF16), y)

    return step, 48


def scaled_one_by_one(faulty):
    model = mlps(640, 2).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(40, 64, 640), noise(40, 64, 640)

    def step():
        if faulty:
            scaled = torch.stack([(own - own.mean()) / (own.std() + 1e-3) for own in x])
        else:
            scaled = (x - x.mean((1, 2), keepdim=True)) / (x.std((1, 2), keepdim=True) + 1e-3)
        F.mse_loss(model(scaled), y).backward()
        adam.step()
        adam.zero_grad()

    return step, len(x)


class Guarded(nn.Module):
    """A block that looks at its input before it works."""

    def __init__(self, width, asks):
        super().__init__()
        self.block, self.asks = MLP(width), asks

    def forward(self, x):
        large = x.detach().abs() > 100
        if self.asks:
            return self.block(x.clamp(-100, 100) if large.any() else x)
        return self.block(torch.where(large, x.clamp(-100, 100), x))


def clipped_training(faulty):
    model = transformer(384, 8).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(4, 160, 384), noise(4, 160, 384)

    @torch.no_grad()
    def clip():
        grads = [weight.grad for weight in model.parameters()]
        if faulty:
            for grad in grads:
                grad.clamp_(-1, 1)
                grad.mul_(0.99)
        else:
            torch._foreach_clamp_min_(grads, -1)
            torch._foreach_clamp_max_(grads, 1)
            torch._foreach_mul_(grads, 0.99)

    def step():
        F.mse_loss(model(x), y).backward()
        clip()
        adam.step()
        adam.zero_grad()

    return step, len(x)


fresh("alloc_churn", program=lambda: training(decoder(1280, 3456, 3, head=64), 12, 768, 1280))
fresh("checkpointing", net=lambda: decoder(1280, 3456, 3, head=64), shape=(12, 1024, 1280))
fresh("conv_nchw", net=lambda: conv_net(128, nn.Identity, kernel=5), batch=48, side=192)
fresh("conv_nchw_norm", net=lambda: conv_net(96, nn.BatchNorm2d), batch=64, side=192)
fresh("first_step_compile", function=swish_by_hand, program=lambda act: training(mlps(1536, 2, act), 16384, 1536))
fresh("float32_training", net=lambda: transformer(768, 3), shape=(32, 512, 768))
fresh("fp32_matmul", model=lambda: decoder(768, 2048, 2, head=64), shape=(24, 640, 768))
fresh("gc_pause", every=3, active=6, hold=lambda: [{"number": number} for number in range(400_000)],
      program=lambda: training(mlps(1536, 2), 12288, 1536))
fresh("item_sync", build=watched_gradients, options={},
      fault="the norm of each gradient is read with .item() in every step",
      fix="the norms go to pinned memory once, without waiting")
fresh("launch_bound", net=lambda: transformer(512, 6), shape=(8, 96, 512))
fresh("loop_optimizer", program=lambda **how: training(gated_mlps(2048, 5632, 2), 1024, 2048, dtype=FP32,
                                                     autocast=BF16, **how))
fresh("loop_over_samples", build=scaled_one_by_one, fault="each sample is normalized by itself, in a loop",
      fix="all at once")
fresh("main_thread_preprocessing", build=spectra, fault="spectra are computed in NumPy in the training loop",
      fix="on the GPU, for the whole batch")
fresh("manual_gelu", by_hand=swish_by_hand, built_in=F.silu, fault="SiLU is written out in tensor arithmetic",
      fix="F.silu", program=lambda act: training(mlps(1280, 3, act), 12288, 1280))
fresh("many_small_copies", numbers=[1 + index / 128 for index in range(128)], net=lambda: gated_mlps(896, 2432, 3),
      shape=(128, 160, 896))
fresh("mask_sync", build=lambda faulty: training(nn.Sequential(*(Guarded(1280, faulty) for _ in range(3))), 6144, 1280),
      fault="every layer asks whether any value is too large, and the host waits for the answer",
      fix="torch.where, without asking")
fresh("math_attention", by_hand=masked_attention_by_hand, built_in=causal_attention,
      fault="causal attention written out with masked_fill", fix="scaled_dot_product_attention(is_causal=True)",
      program=lambda attend: training(transformer(896, 2, attend=attend), 10, 1536, 896))
fresh("norm_by_hand", net=lambda: decoder(1536, 4096, 2, head=64), shape=(12, 896, 1536))
fresh("odd_gemm", odd=2731, padded=2752, fault="gated MLPs 2731 wide: rows that are not aligned",
      fix="their width padded to 2752", program=lambda hidden: training(gated_mlps(2048, hidden, 2), 8192, 2048))
fresh("pageable_copy", model=lambda: mlps(1024, 3), shape=(32768, 1024))
fresh("parameter_loop", build=clipped_training, fault="gradients are clipped and scaled tensor by tensor",
      fix="torch._foreach_clamp_min_ and others")
fresh("ping_pong", build=sorted_on_the_host, fault="an activation goes to the CPU for a relu and back",
      fix="it stays on the GPU")
fresh("recompile", function=swish_by_hand, width=768, shapes=[(24, length, 768) for length in range(896, 640, -32)])
fresh("recurrent_by_hand", cell=nn.RNNCell, net=nn.RNN, shape=(64, 96, 640), fault="an RNN unrolled in Python",
      fix="nn.RNN")
fresh("rotary_by_hand", width=2048, hidden=5632, layers=2, head=128, shape=(8, 1024))
fresh("slow_loader", data=lambda: faults.Photos(112), batch=96, workers=12)
fresh("small_batch", small=2, large=32, fault="a batch of 2", fix="a batch of 32",
      program=lambda batch: training(transformer(512, 6), batch, 384, 512))
fresh("tf32_off", program=lambda: training(transformer(768, 2), 16, 512, 768, dtype=FP32))
