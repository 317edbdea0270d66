"""More faults, each in two programs; and traps, where the obvious fix gains nothing."""

import itertools
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from .blocks import (
    BF16, FP32, MLP, Attention, GatedMLP, conv_net, decoder, gated_mlps, mlps, noise, trainer, training,
    transformer,
)
from .faults import compiled
from .harness import case, trap

# --------------------------------------------------------------------------------------------- norms and embeddings


class RMSNormByHand(nn.Module):
    """As many a model's code has it."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class LayerNormByHand(nn.Module):
    """The same with a mean."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        spread = (x - mean).pow(2).mean(-1, keepdim=True)
        return self.weight * (x - mean) / torch.sqrt(spread + 1e-5) + self.bias


def with_norms(layers, norm):
    for layer in layers:
        layer.norm = norm(layer.norm.weight.shape[0])
    return layers


@case("unfused_pointwise unfused_norm", fault="RMSNorm is written out: eight kernels instead of one",
      fix="nn.RMSNorm",
      unseen=dict(fault="LayerNorm is written out: ten kernels instead of one", fix="nn.LayerNorm",
                  by_hand=LayerNormByHand, built_in=nn.LayerNorm, net=lambda: transformer(1280, 3),
                  shape=(12, 768, 1280)))
def norm_by_hand(faulty, by_hand=RMSNormByHand, built_in=nn.RMSNorm, net=lambda: decoder(2048, 5632, 3, head=128),
                 shape=(8, 1024, 2048)):
    return training(with_norms(net(), by_hand if faulty else built_in), *shape)


def rotate_halves(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def rotate_pairs(x, cos, sin):
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * cos + turned * sin


class Rotary(nn.Module):
    """Attention whose queries and keys are turned by their places."""

    def __init__(self, head, length, rotate):
        super().__init__()
        angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, head, 2) / head)
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.rotate = rotate

    def forward(self, q, k, v):
        q, k = self.rotate(q, self.cos, self.sin), self.rotate(k, self.cos, self.sin)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def rotary_decoder(width, hidden, layers, head, length, rotate):
    return nn.Sequential(*(half for _ in range(layers) for half in (
        Attention(width, Rotary(head, length, rotate), head, nn.RMSNorm, bias=False), GatedMLP(width, hidden))))


@case("unfused_pointwise", fault="rotary embeddings as tensor arithmetic: a kernel for every operation",
      fix="the function compiled",
      unseen=dict(rotate=rotate_pairs, width=1536, hidden=4096, layers=2, head=96, shape=(16, 640)))
def rotary_by_hand(faulty, rotate=rotate_halves, width=1024, hidden=2816, layers=3, head=64, shape=(16, 1024)):
    turn = rotate if faulty else compiled(rotate)
    return training(rotary_decoder(width, hidden, layers, head, shape[1], turn), *shape, width)


# ------------------------------------------------------------------------------------------------------ the host


def augmented(pictures, choose):
    """Crops, flips and normalizes pictures one by one, in NumPy."""
    done = []
    for picture in pictures:
        top, left = choose.integers(0, 32, 2)
        piece = picture[top:top + 128, left:left + 128]
        piece = piece[:, ::-1] if choose.random() < 0.5 else piece
        done.append((piece.astype(np.float32) / 255 - 0.45) / 0.225)
    return np.stack(done)


@case("main_thread_work host_stalls data_loading", fault="pictures are cropped, flipped and normalized one by one, in "
      "NumPy, in the training loop", fix="the same on the GPU for the whole batch",
      unseen=dict(build=lambda faulty: padded_sentences(faulty),
                  fault="lists of numbers are padded one by one, in Python, in the training loop",
                  fix="they are padded once, before the loop"))
def main_thread_preprocessing(faulty):
    choose = np.random.default_rng(0)
    pictures = choose.integers(0, 256, (64, 160, 160, 3), dtype=np.uint8)
    net = conv_net(128, nn.BatchNorm2d).cuda().to(memory_format=torch.channels_last)
    train = trainer(net, autocast=BF16, loss=F.cross_entropy)
    y = torch.randint(1000, (64,), device="cuda")
    on_gpu = torch.from_numpy(pictures).cuda()

    def step():
        if faulty:
            x = torch.from_numpy(augmented(pictures, choose)).pin_memory().to("cuda", non_blocking=True)
        else:
            top, left = choose.integers(0, 32, 2)
            x = (on_gpu[:, top:top + 128, left:left + 128].float() / 255 - 0.45) / 0.225
        train(x.permute(0, 3, 1, 2), y)

    return step, 64


def padded_sentences(faulty):
    choose = np.random.default_rng(0)
    sentences = [choose.integers(1, 1000, choose.integers(200, 512)).tolist() for _ in range(128)]
    model = nn.Sequential(nn.Embedding(1024, 768), *transformer(768, 2), nn.Linear(768, 1000)).cuda()
    train = trainer(model, autocast=BF16, loss=lambda x, y: F.cross_entropy(x.mean(1), y))
    y = torch.randint(1000, (128,), device="cuda")

    def padded():
        rows = []
        for sentence in sentences:
            row = [0] * 512
            for place, number in enumerate(sentence):
                row[place] = number % 997
            rows.append(row)
        return torch.tensor(rows)

    once = padded().pin_memory()
    return lambda: train((padded().pin_memory() if faulty else once).to("cuda", non_blocking=True), y), 128


@case("launch_bound python_loop", fault="the distances of each sample's points are worked out sample by sample",
      fix="for the whole batch at once",
      unseen=dict(build=lambda faulty: pooled_training(faulty),
                  fault="the words of each sentence are averaged sentence by sentence",
                  fix="for the whole batch at once, with a mask"))
def loop_over_samples(faulty):
    model = nn.Sequential(*mlps(512, 2), nn.Linear(512, 64)).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(48, 96, 512), noise(48, 96, 96, dtype=FP32).abs()

    def far(points):
        products = points @ points.mT
        squares = products.diagonal(dim1=-2, dim2=-1)
        return (squares[..., :, None] + squares[..., None, :] - 2 * products).clamp(min=1e-6).sqrt()

    def step():
        points = model(x).float()
        if faulty:
            loss = sum(F.l1_loss(far(own), true) for own, true in zip(points, y, strict=True)) / len(x)
        else:
            loss = F.l1_loss(far(points), y)
        loss.backward()
        adam.step()
        adam.zero_grad()

    return step, len(x)


def pooled_training(faulty):
    model = nn.Sequential(*gated_mlps(768, 2048, 2)).cuda().to(BF16)
    head = nn.Linear(768, 100).cuda().to(BF16)
    adam = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-5, fused=True)
    lengths = [40 + 7 * (number % 29) for number in range(64)]
    x, y = noise(64, 256, 768), torch.randint(100, (64,), device="cuda")
    inside = torch.arange(256, device="cuda") < torch.tensor(lengths, device="cuda")[:, None]
    mask, count = inside.to(BF16)[..., None], torch.tensor(lengths, device="cuda", dtype=BF16)[:, None]

    def step():
        words = model(x)
        if faulty:
            pooled = torch.stack([own[:length].mean(0) for own, length in zip(words, lengths, strict=True)])
        else:
            pooled = (words * mask).sum(1) / count
        F.cross_entropy(head(pooled), y).backward()
        adam.step()
        adam.zero_grad()

    return step, len(x)


class Unrolled(nn.Module):
    """A recurrent net whose moments follow each other in Python."""

    def __init__(self, width, cell):
        super().__init__()
        self.cell = cell(width, width)

    def forward(self, x):
        state, states = None, []
        for moment in x.unbind(1):
            state = self.cell(moment, state)
            states.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(states, 1)


class BuiltIn(nn.Module):
    """The same from the library."""

    def __init__(self, width, net):
        super().__init__()
        self.net = net(width, width, batch_first=True)

    def forward(self, x):
        return self.net(x)[0]


@case("launch_bound recurrent_loop", fault="an LSTM unrolled in Python", fix="nn.LSTM",
      unseen=dict(fault="a GRU unrolled in Python", fix="nn.GRU", cell=nn.GRUCell, net=nn.GRU, shape=(96, 48, 768)))
def recurrent_by_hand(faulty, cell=nn.LSTMCell, net=nn.LSTM, shape=(128, 64, 512)):
    return training(Unrolled(shape[-1], cell) if faulty else BuiltIn(shape[-1], net), *shape)


# --------------------------------------------------------------------------------------------------------- waits


class Chosen(nn.Module):
    """A block that handles only some of the rows."""

    def __init__(self, width, by_index):
        super().__init__()
        self.block, self.by_index = MLP(width), by_index

    def forward(self, x):
        large = x.detach()[:, 0] > -3
        if self.by_index:
            result = x.clone()
            result[large] = self.block(x[large])
            return result
        return torch.where(large[:, None], self.block(x), x)


@case("synchronization", fault="rows are chosen with x[mask]: the host waits for their number in every layer",
      fix="torch.where over all rows",
      unseen=dict(width=768, layers=4, rows=8192))
def mask_sync(faulty, width=1024, layers=3, rows=12288):
    return training(nn.Sequential(*(Chosen(width, faulty) for _ in range(layers))), rows, width)


class Timed(nn.Module):
    """Measures how long a layer takes, as people do."""

    def __init__(self, layer, wait):
        super().__init__()
        self.layer, self.wait = layer, wait

    def forward(self, x):
        x = self.layer(x)
        if self.wait:
            torch.cuda.synchronize()
        return x


@case("synchronization", fault="torch.cuda.synchronize() after every layer", fix="no such calls",
      unseen=dict(net=lambda: decoder(768, 2048, 4, head=96), shape=(8, 384, 768)))
def layer_sync(faulty, net=lambda: transformer(512, 4), shape=(24, 256, 512)):
    return training(nn.Sequential(*(Timed(layer, faulty) for layer in net())), *shape)


# ---------------------------------------------------------------------------------------------------- the device


@case("mixed_precision", fault="a transformer is trained in float32 (TF32 products)", fix="bfloat16 autocast",
      unseen=dict(net=lambda: decoder(896, 2432, 2, head=64), shape=(24, 896, 896)))
def float32_training(faulty, net=lambda: transformer(1024, 2), shape=(24, 768, 1024)):
    return training(net(), *shape, dtype=FP32, autocast=None if faulty else BF16)


class Recomputed(nn.Module):
    """A layer whose activations are thrown away and worked out again."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return checkpoint(self.layer, x, use_reentrant=False)


@case("recomputation", fault="activation checkpointing where memory is plentiful", fix="none",
      unseen=dict(net=lambda: gated_mlps(1536, 4096, 4), shape=(16384, 1536)))
def checkpointing(faulty, net=lambda: transformer(1024, 3), shape=(16, 1024, 1024)):
    return training(nn.Sequential(*map(Recomputed, net())) if faulty else net(), *shape)


@case("launch_bound parameter_loop optimizer", fault="a running mean of the weights is kept tensor by tensor",
      fix="torch._foreach_lerp_",
      unseen=dict(build=lambda faulty: decayed_training(faulty),
                  fault="weights decay tensor by tensor, beside the optimizer", fix="torch._foreach_mul_"))
def parameter_loop(faulty):
    model = decoder(256, 704, 12, head=32).cuda().to(BF16)
    means = [weight.detach().clone() for weight in model.parameters()]
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(4, 128, 256), noise(4, 128, 256)

    @torch.no_grad()
    def follow():
        weights = list(model.parameters())
        if faulty:
            for mean, weight in zip(means, weights, strict=True):
                mean.mul_(0.999).add_(weight, alpha=0.001)
        else:
            torch._foreach_lerp_(means, weights, 0.001)

    def step():
        F.mse_loss(model(x), y).backward()
        adam.step()
        adam.zero_grad()
        follow()

    return step, len(x)


def decayed_training(faulty):
    model = transformer(320, 10).cuda().to(BF16)
    adam = torch.optim.Adam(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(6, 96, 320), noise(6, 96, 320)

    @torch.no_grad()
    def decay():
        weights = list(model.parameters())
        if faulty:
            for weight in weights:
                weight.sub_(weight * 1e-4)
                weight.clamp_(-10, 10)
        else:
            torch._foreach_mul_(weights, 1 - 1e-4)
            torch._foreach_clamp_min_(weights, -10)
            torch._foreach_clamp_max_(weights, 10)

    def step():
        F.mse_loss(model(x), y).backward()
        adam.step()
        adam.zero_grad()
        decay()

    return step, len(x)


# --------------------------------------------------------------------------------------------------------- traps


class Numbers(torch.utils.data.Dataset):
    """Samples that cost next to nothing."""

    def __init__(self):
        self.rows = torch.randn(4096, 256)

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        return self.rows[index % 4096]


@trap(fault="DataLoader(num_workers=0), but the GPU is busy all the time", fix="num_workers=4")
def quick_loader(faulty):
    how = {} if faulty else {"num_workers": 4}
    batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=256, pin_memory=True, **how))
    model = nn.Sequential(nn.Linear(256, 8192), *mlps(8192, 3), nn.Linear(8192, 256)).cuda().to(BF16)
    train = trainer(model)
    y = noise(8192, 256)
    return lambda: train(next(batches).to("cuda", BF16, non_blocking=True).repeat(32, 1), y), 256


@trap(fault="the loss is read with .item() in every step, but the GPU is busy all the time", fix="it is not read")
def item_at_the_end(faulty):
    model = transformer(2048, 3).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(32, 1024, 2048), noise(32, 1024, 2048)

    def step():
        loss = F.mse_loss(model(x), y)
        loss.backward()
        adam.step()
        adam.zero_grad()
        return loss.item() if faulty else loss

    return step, len(x)


@trap(fault="a small batch comes from pageable memory", fix="from pinned memory, without waiting")
def small_pageable_copy(faulty):
    batches = [torch.randint(1000, (16, 512)) for _ in range(3)]
    turn = itertools.cycle(batches if faulty else [batch.pin_memory() for batch in batches])
    model = nn.Sequential(nn.Embedding(1000, 1536), *transformer(1536, 3)).cuda().to(BF16)
    train = trainer(model)
    y = noise(16, 512, 1536)
    return lambda: train(next(turn).to("cuda", non_blocking=not faulty), y), 16


@trap(fault="small float32 products without tensor cores, but the host is the limit", fix="TF32")
def small_exact_products(faulty):
    torch.set_float32_matmul_precision("highest" if faulty else "high")
    return training(transformer(128, 6, head=32), 4, 32, 128, dtype=FP32)


@trap(fault="many tiny kernels, but the GPU is busy with large ones all the time", fix="one kernel for all of them")
def hidden_small_kernels(faulty):
    model = mlps(4096, 4).cuda().to(BF16)
    train = trainer(model)
    x, y = noise(16384, 4096), noise(16384, 4096)
    told = noise(64)

    def step():
        if faulty:
            parts = [told[place] * math.sqrt(place + 1) for place in range(64)]
            torch.stack(parts).sum()
        else:
            (told * told.abs()).sum()
        train(x, y)

    return step, len(x)


