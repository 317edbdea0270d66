"""A fourth program for every fault, recorded before the rules changed and compared once they were done."""

from dataclasses import replace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from . import faults, more_faults
from .blocks import (
    BF16, FP16, FP32, MLP, conv_net, decoder, gated_mlps, mlps, noise, trainer, training, transformer,
)
from .harness import SETS


def blind(name, of=None, **told):
    """The pair `of` (or `name`) that may be looked at, with other settings or another builder."""
    first = SETS["seen"][of or name]
    fields = {key: value for key, value in told.items() if key in type(first).__dataclass_fields__}
    settings = {key: value for key, value in told.items() if key not in fields}
    SETS["blind"][name] = replace(first, settings=settings, **fields)


# ------------------------------------------------------------------------------------------------------------ waits


def accuracy_by_layer(faulty):
    """Every layer has a head of its own, and how often each is right is printed."""
    layers = mlps(896, 4).cuda().to(BF16)
    heads = nn.ModuleList(nn.Linear(896, 50) for _ in layers).cuda().to(BF16)
    adam = torch.optim.AdamW([*layers.parameters(), *heads.parameters()], lr=1e-5, fused=True)
    x, y = noise(16384, 896), torch.randint(50, (16384,), device="cuda")
    log = torch.empty(8, pin_memory=True)

    def step():
        state, total, told = x, 0, []
        for layer, head in zip(layers, heads, strict=True):
            state = layer(state)
            guess = head(state)
            loss = F.cross_entropy(guess, y)
            total = total + loss
            for value in (loss.detach().float(), (guess.detach().argmax(-1) == y).float().mean()):
                told.append(value.item() if faulty else value)
        if not faulty:
            log.copy_(torch.stack(told), non_blocking=True)
        total.backward()
        adam.step()
        adam.zero_grad()

    return step, len(x)


def checked_gradients(faulty):
    """Skips a step whose gradients are not finite: asked weight by weight, or not asked."""
    model = decoder(768, 2048, 4, head=64).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(16, 384, 768), noise(16, 384, 768)
    weights = list(model.parameters())

    def step():
        F.mse_loss(model(x), y).backward()
        if faulty:
            fine = all(bool(weight.grad.isfinite().all()) for weight in weights)
        else:
            fine = True
            norm = torch.nn.utils.get_total_norm([weight.grad for weight in weights])
            for_later = norm.isfinite()  # noqa: F841
        if fine:
            adam.step()
        adam.zero_grad()

    return step, len(x)


def answered_only(faulty):
    """A loss over the words that have an answer: chosen by a mask, or weighted by it."""
    model = nn.Sequential(*transformer(640, 3), nn.Linear(640, 400)).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(24, 256, 640), torch.randint(400, (24, 256), device="cuda")
    has_answer = torch.rand(24, 256, device="cuda") < 0.5
    y_or_none = torch.where(has_answer, y, -100)

    def step():
        words = model(x)
        if faulty:
            loss = F.cross_entropy(words[has_answer], y[has_answer])
        else:
            loss = F.cross_entropy(words.flatten(0, 1), y_or_none.flatten())
        loss.backward()
        adam.step()
        adam.zero_grad()

    return step, len(x)


# ---------------------------------------------------------------------------------------------------- the host's work


def shifted_one_by_one(faulty):
    """Every signal is rolled by a distance of its own, as augmentation does."""
    model = mlps(1024, 2).cuda().to(BF16)
    train = trainer(model)
    x, y = noise(96, 32, 1024), noise(96, 32, 1024)
    far = [(7 * number) % 1024 for number in range(96)]
    places = (torch.arange(1024, device="cuda") - torch.tensor(far, device="cuda")[:, None]) % 1024
    places = places[:, None].expand(-1, 32, -1)

    def step():
        if faulty:
            moved = torch.stack([own.roll(by, -1) for own, by in zip(x, far, strict=True)])
        else:
            moved = x.gather(-1, places)
        train(moved, y)

    return step, len(x)


def hashed_words(faulty):
    """Words are numbered in the training loop, or were before it."""
    choose = np.random.default_rng(0)
    texts = [" ".join(f"w{number}" for number in choose.integers(0, 5000, 384)) for _ in range(64)]
    model = nn.Sequential(nn.Embedding(4096, 1024), *transformer(1024, 3)).cuda().to(BF16)
    train = trainer(model)
    y = noise(64, 384, 1024)

    def numbered():
        rows = [[sum(map(ord, word)) * 31 % 4096 for word in text.split()] for text in texts]
        return torch.tensor(rows).pin_memory()

    once = numbered()
    return lambda: train((numbered() if faulty else once).to("cuda", non_blocking=True), y), 64


def momentum_by_hand(faulty):
    """Plain gradient descent with momentum, written out."""
    model = transformer(448, 9).cuda().to(BF16)
    weights = list(model.parameters())
    speeds = [torch.zeros_like(weight) for weight in weights]
    x, y = noise(6, 128, 448), noise(6, 128, 448)

    @torch.no_grad()
    def move():
        grads = [weight.grad for weight in weights]
        if faulty:
            for weight, speed, grad in zip(weights, speeds, grads, strict=True):
                speed.mul_(0.9).add_(grad)
                weight.sub_(speed, alpha=1e-5)
        else:
            torch._foreach_mul_(speeds, 0.9)
            torch._foreach_add_(speeds, grads)
            torch._foreach_sub_(weights, speeds, alpha=1e-5)

    def step():
        F.mse_loss(model(x), y).backward()
        move()
        for weight in weights:
            weight.grad = None

    return step, len(x)


def chosen_on_the_host(faulty):
    """A router whose experts are chosen in NumPy."""
    model = nn.ModuleList([MLP(1152), nn.Linear(1152, 64), MLP(1152)]).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(16384, 1152), noise(16384, 1152)

    def step():
        first, gate, second = model
        state = first(x)
        scores = gate(state).float()
        if faulty:
            best = np.argpartition(-scores.detach().cpu().numpy(), 4, axis=-1)[:, :4]
            best = torch.from_numpy(best).cuda()
        else:
            best = scores.detach().topk(4, -1).indices
        share = torch.softmax(scores.gather(-1, best), -1).sum(-1, keepdim=True)
        F.mse_loss(second(state * share.to(BF16)), y).backward()
        adam.step()
        adam.zero_grad()

    return step, len(x)


# -------------------------------------------------------------------------------------------------- the device's work


def wide_softmax_attention(q, k, v):
    scores = (q @ k.transpose(-2, -1)).float() * q.shape[-1] ** -0.5
    return torch.softmax(scores, -1).to(v.dtype) @ v


class Gate(nn.Module):
    """A gate with an activation of one's choice."""

    def __init__(self, activation):
        super().__init__()
        self.activation = activation

    def forward(self, gate, x):
        return self.activation(gate) * x


class NormalizedByHand(nn.Module):
    """RMSNorm without going through float32."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * self.weight


def quick_gelu(x):
    return x * torch.sigmoid(1.702 * x) + 0.1 * torch.tanh(x)


def compiled_activation(faulty):
    return training(mlps(1536, 2, quick_gelu if faulty else faults.compiled(quick_gelu)), 14336, 1536)


def vocabulary(size):
    model = nn.Sequential(*gated_mlps(1280, 3456, 2), nn.Linear(1280, size, bias=False)).cuda().to(BF16)
    train = trainer(model, loss=F.cross_entropy)
    x, y = noise(6144, 1280), torch.randint(32001, (6144,), device="cuda")
    return lambda: train(x, y), len(x)


def exact_conv(faulty):
    torch.backends.cudnn.allow_tf32 = not faulty
    net = conv_net(96, nn.BatchNorm2d).cuda().to(memory_format=torch.channels_last)
    train = trainer(net, loss=F.cross_entropy)
    x = noise(64, 3, 176, 176, dtype=FP32).to(memory_format=torch.channels_last)
    y = torch.randint(1000, (64,), device="cuda")
    return lambda: train(x, y), len(x)


blind("alloc_churn", program=lambda: training(mlps(1792, 3), 16384, 1792))
blind("checkpointing", net=lambda: mlps(1792, 3), shape=(20480, 1792))
blind("conv_nchw", net=lambda: conv_net(80, nn.Identity, kernel=3), batch=96, side=160, autocast=FP16)
blind("conv_nchw_norm", net=lambda: conv_net(128, nn.BatchNorm2d, kernel=3), batch=32, side=224)
blind("first_step_compile", function=quick_gelu, active=6,
      program=lambda act: training(mlps(1792, 2, act), 12288, 1792))
blind("float32_training", net=lambda: gated_mlps(1280, 3456, 3), shape=(14336, 1280))
blind("fp32_matmul", model=lambda: mlps(1152, 3), shape=(12288, 1152), half=FP16)
blind("gc_pause", every=5, active=5, hold=lambda: [(number, [number]) for number in range(300_000)],
      program=lambda: training(mlps(1152, 3), 8192, 1152))
blind("item_sync", build=accuracy_by_layer, options={}, fault="the loss and the accuracy of every layer are read with "
      ".item()", fix="they go to pinned memory once, without waiting")
blind("finite_sync", of="item_sync", build=checked_gradients, options={},
      fault="the host asks of every gradient whether it is finite", fix="it does not")
blind("launch_bound", net=lambda: decoder(640, 1728, 4, head=64), shape=(4, 128, 640))
blind("loop_optimizer", program=lambda **how: training(transformer(1536, 3), 4, 192, 1536, dtype=FP32, autocast=BF16,
                                                       **how))
blind("loop_over_samples", build=shifted_one_by_one, fault="each sample is rolled by itself, in a loop",
      fix="gather, for all at once")
blind("main_thread_preprocessing", build=hashed_words, fault="words are numbered in Python in the training loop",
      fix="before it")
blind("manual_gelu", fault="GELU is written out in tensor arithmetic, and so is its gate",
      program=lambda act: training(gated_mlps(1280, 3456, 3, Gate(act)), 10240, 1280))
blind("fused_activation", of="manual_gelu", build=compiled_activation, fault="an activation of five operations",
      fix="the function compiled")
blind("many_small_copies", numbers=[1 + index / 48 for index in range(48)], net=lambda: transformer(640, 3),
      shape=(48, 128, 640))
blind("mask_sync", build=answered_only, fault="words with an answer are chosen with a mask: the host waits for their "
      "number", fix="ignore_index, over all words")
blind("math_attention", by_hand=wide_softmax_attention,
      fault="attention written out with a softmax in float32", fix="F.scaled_dot_product_attention",
      program=lambda attend: training(transformer(1280, 2, attend=attend), 6, 1792, 1280))
blind("norm_by_hand", by_hand=NormalizedByHand, built_in=nn.RMSNorm, net=lambda: decoder(1792, 4864, 2, head=128),
      shape=(10, 1024, 1792), fault="RMSNorm is written out in bfloat16")
blind("odd_gemm", odd=32001, padded=32064, fault="a vocabulary of 32001", fix="padded to 32064", program=vocabulary)
blind("pageable_copy", model=lambda: mlps(1536, 2), shape=(20480, 1536))
blind("parameter_loop", build=momentum_by_hand, fault="momentum written out tensor by tensor",
      fix="torch._foreach_mul_ and others")
blind("ping_pong", build=chosen_on_the_host, fault="the best four of 64 scores are chosen in NumPy",
      fix="torch.topk on the GPU")
blind("recompile", function=quick_gelu, width=1152, shapes=[(rows, 1152) for rows in range(16384, 12288, -512)])
blind("recurrent_by_hand", cell=nn.GRUCell, net=nn.GRU, shape=(160, 40, 384), fault="a GRU unrolled in Python",
      fix="nn.GRU")
blind("rotary_by_hand", width=1536, hidden=4096, layers=3, head=128, shape=(6, 1280))
blind("rotary_pairs", of="rotary_by_hand", rotate=more_faults.rotate_pairs, width=1024, hidden=2816, layers=2, head=64,
      shape=(20, 896))
blind("slow_loader", data=lambda: faults.Photos(192), batch=48, workers=10)
blind("small_batch", small=6, large=48, fault="a batch of 6", fix="a batch of 48",
      program=lambda batch: training(decoder(1024, 2816, 4, head=64), batch, 128, 1024))
blind("tf32_off", program=lambda: training(decoder(1024, 2816, 2, head=64), 10, 768, 1024, dtype=FP32))
blind("exact_conv", of="tf32_off", build=exact_conv,
      fault="convolutions in float32 with exact products", fix="torch.backends.cudnn.allow_tf32 = True")
