"""Image classification: a data loader with some work per sample, gradient accumulation, a validation now and then."""

from __future__ import annotations

import sys

import torch
from timed import Timed
from torch import nn
from torch.utils.data import DataLoader, Dataset

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 2
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
torch.set_num_threads(1)


class Pictures(Dataset):
    def __len__(self):
        return 512 if device == "cpu" else 2048

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        picture = torch.rand(3, 32, 32, generator=generator)
        return (picture - picture.mean()) / picture.std(), index % 10


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))


model = nn.Sequential(block(3, 16), block(16, 32), block(32, 64), nn.Flatten(), nn.Linear(64 * 16, 10)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(Pictures(), batch_size=8, shuffle=True)
timed = Timed(torch.cuda.synchronize if device == "cuda" else lambda: None)
for _epoch in range(EPOCHS):
    model.train()
    for number, (pictures, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(pictures.to(device)), labels.to(device))
        (loss / 2).backward()
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
            timed.iteration()
    model.eval()
    with torch.no_grad():
        right = 0
        for pictures, labels in DataLoader(Pictures(), batch_size=64):
            right += (model(pictures.to(device)).argmax(1).cpu() == labels).sum().item()
timed.report(right=right)
