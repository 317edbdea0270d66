"""Models and training steps that the programs are made of."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


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
