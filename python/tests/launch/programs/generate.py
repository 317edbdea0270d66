"""Text generation without a cache library: a prompt, then token after token, for several requests."""

from __future__ import annotations

import sys

import torch
from timed import Timed
from torch import nn

REQUESTS = int(sys.argv[1]) if len(sys.argv) > 1 else 8
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
torch.set_num_threads(1)
WIDTH, LAYERS, TOKENS = (128, 2, 24) if device == "cpu" else (1024, 12, 64)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mix, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, value):
        batch, length, _ = value.shape
        query, key, content = self.mix(self.norm(value)).view(batch, length, 3, 4, WIDTH // 4).unbind(2)
        mixed = nn.functional.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), content.transpose(1, 2), is_causal=True
        )
        value = value + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return value + self.down(nn.functional.gelu(self.up(value)))


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(1000, WIDTH), nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 1000)

    def forward(self, tokens):
        value = self.embed(tokens)
        for each in self.blocks:
            value = each(value)
        return self.head(value[:, -1])


model = Writer().to(device).eval()
timed = Timed(torch.cuda.synchronize if device == "cuda" else lambda: None)
written = 0
with torch.inference_mode():
    for _request in range(REQUESTS):
        tokens = torch.randint(1000, (4, 16), device=device)
        for _ in range(TOKENS):
            following = model(tokens).argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, following], 1)
            written += int(following[0])
            timed.iteration()
timed.report(written=written)
