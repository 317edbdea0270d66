"""Programs with nothing to find: what a rule says about them is a false alarm."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from .blocks import (
    BF16, FP16, FP32, conv_net, conv_training, decoder, gated_mlps, mlps, noise, trainer, training, transformer,
)
from .faults import Photos, Prefetcher, compiled, hand_written_gelu, learn_photos
from .harness import healthy
from .more_faults import BuiltIn


@healthy
def language_model():
    model = nn.Sequential(nn.Embedding(32000, 1024), *decoder(1024, 2816, 6, head=128), nn.RMSNorm(1024),
                          nn.Linear(1024, 32000, bias=False)).cuda().to(BF16)
    train = trainer(model, loss=lambda x, y: F.cross_entropy(x.flatten(0, 1), y.flatten()))
    x, y = (torch.randint(32000, (16, 1024), device="cuda") for _ in range(2))
    return lambda: train(x, y), len(x)


@healthy
def picture_classifier():
    return conv_training(conv_net(96, nn.BatchNorm2d, stages=3), 128, 224)


@healthy
def half_precision_training():
    return training(transformer(1280, 4), 24, 1024, 1280, dtype=FP32, autocast=FP16)


@healthy
def graphed_inference():
    model = transformer(768, 6).cuda().to(BF16).eval()
    x = noise(16, 128, 768)
    with torch.no_grad():
        for _ in range(3):
            model(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
    return graph.replay, len(x)


@healthy
def compiled_training():
    return training(mlps(2048, 4, compiled(hand_written_gelu)), 16384, 2048)


@healthy
def workers_that_keep_up():
    loader = torch.utils.data.DataLoader(Photos(96), batch_size=64, pin_memory=True, num_workers=12, prefetch_factor=6,
                                         persistent_workers=True)
    learn = learn_photos(64)
    return lambda batches=iter(loader): learn(next(batches).to("cuda", non_blocking=True)), 64


@healthy
def recurrent_net():
    return training(nn.Sequential(*(BuiltIn(1024, nn.LSTM) for _ in range(3))), 256, 256, 1024)


@healthy
def large_products():
    weights = [noise(8192, 8192) for _ in range(4)]
    x = noise(16384, 8192)

    @torch.no_grad()
    def step():
        y = x
        for weight in weights:
            y = F.relu(y @ weight)
        return y

    return step, len(x)


@healthy
def prefetched_batches():
    fetch = Prefetcher([torch.randn(8192, 2048).to(BF16).pin_memory() for _ in range(3)])
    train = trainer(gated_mlps(2048, 5632, 6).cuda().to(BF16))
    y = noise(8192, 2048)
    return lambda: train(fetch(), y), len(y)


@healthy
def wide_recommender():
    tables = nn.EmbeddingBag(2_000_000, 128, mode="sum", sparse=False).cuda().to(BF16)
    model = nn.Sequential(nn.Linear(128, 4096), *mlps(4096, 3), nn.Linear(4096, 1)).cuda().to(BF16)
    sgd = torch.optim.SGD([*tables.parameters(), *model.parameters()], lr=1e-4, fused=True)
    x, y = torch.randint(2_000_000, (16384, 16), device="cuda"), noise(16384, 1)

    def step():
        F.mse_loss(model(tables(x)), y).backward()
        sgd.step()
        sgd.zero_grad()

    return step, len(x)


@healthy
def batched_inference():
    model = decoder(2048, 5632, 2, head=128).cuda().to(FP16).eval()
    x = noise(32, 1024, 2048, dtype=FP16)

    @torch.no_grad()
    def step():
        return model(x)

    return step, len(x)
