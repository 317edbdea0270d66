"""Faults that the rules were first made with, and the same faults in programs that no one had seen."""

import functools
import gc
import itertools
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from .blocks import (
    BF16, FP16, FP32, MLP, conv_net, conv_training, decoder, gated_mlps, mlps, noise, tanh_gelu, trainer, training,
    transformer,
)
from .harness import case


def counted_training(faulty):
    model = nn.Sequential(*mlps(1280, 2), nn.Linear(1280, 24)).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(20480, 1280), torch.randint(24, (20480,), device="cuda")
    log = torch.empty(2, 24, dtype=torch.int64, pin_memory=True)

    def step():
        guess = model(x)
        F.cross_entropy(guess, y).backward()
        chosen = guess.detach().argmax(-1)
        if faulty:
            for kind in range(24):
                log[0, kind] = ((chosen == kind) & (y == kind)).sum().item()
                log[1, kind] = ((chosen == kind) & (y != kind)).sum().item()
        else:
            hit = chosen == y
            log[0].copy_(torch.bincount(chosen, hit.double(), minlength=24).long(), non_blocking=True)
            log[1].copy_(torch.bincount(chosen, (~hit).double(), minlength=24).long(), non_blocking=True)
        adam.step()
        adam.zero_grad()

    return step, len(x)


@case("synchronization",
      fault="the largest value of each of 16 groups of channels is read with .item() after every layer: the host waits "
            "for the GPU, and then the GPU for the host",
      fix="the values stay on the GPU and go to pinned memory once a step, without waiting",
      options={"with_stack": True},
      unseen=dict(build=counted_training, options={},
                  fault="hits and misses of 24 classes are read with .item() each, in every step: the host waits for "
                        "the GPU, and then the GPU for the host",
                  fix="they are counted on the GPU and go to pinned memory without waiting"))
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


@case("pageable_copies",
      fault="each step's batch is copied from pageable memory, which is slow and makes the host wait",
      fix="the batches lie in pinned memory and the next is uploaded on a side stream meanwhile",
      unseen=dict(model=lambda: gated_mlps(1536, 4096, 2), shape=(24576, 1536)))
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


@case("mixed_precision tf32_off",
      fault="a transformer is trained in float32 with exact matrix products, so without tensor cores",
      fix="bfloat16 autocast",
      unseen=dict(model=lambda: transformer(640, 3), shape=(32, 768, 640)))
def fp32_matmul(faulty, model=lambda: transformer(512, 2), shape=(64, 1024, 512), half=BF16):
    torch.set_float32_matmul_precision("highest")
    return training(model(), *shape, dtype=FP32, autocast=None if faulty else half)


@case("tf32_off mixed_precision",
      fault="an MLP is trained in float32 with exact matrix products, so without tensor cores",
      fix='torch.set_float32_matmul_precision("high"): TF32',
      unseen=dict(fault="gated MLPs are trained in float32 with exact matrix products, so without tensor cores",
                  program=lambda: training(gated_mlps(896, 2432, 3), 10240, 896, dtype=FP32)))
def tf32_off(faulty, program=lambda: training(mlps(1024, 3), 8192, 1024, dtype=FP32)):
    torch.set_float32_matmul_precision("highest" if faulty else "high")
    return program()


def hand_written_gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def hand_written_mish(x):
    return x * torch.tanh(torch.log(1 + torch.exp(x)))


@case("unfused_pointwise",
      fault="GELU is written out in tensor arithmetic: a kernel and a pass over memory for every operation",
      fix='F.gelu(approximate="tanh")',
      unseen=dict(fault="Mish is written out in tensor arithmetic: a kernel and a pass over memory for every operation",
                  fix="F.mish", by_hand=hand_written_mish, built_in=F.mish,
                  program=lambda activation: training(mlps(1536, 2, activation), 16384, 1536)))
def manual_gelu(faulty, by_hand=hand_written_gelu, built_in=tanh_gelu,
                program=lambda activation: training(mlps(1024, 3, activation), 16384, 1024)):
    return program(by_hand if faulty else built_in)


@case("channels_last",
      fault="a convolution net runs on NCHW tensors, which cuDNN transposes for its tensor core kernels",
      fix="model and input in torch.channels_last",
      unseen=dict(net=lambda: conv_net(96, nn.Identity, kernel=3), batch=64, side=208))
def conv_nchw(faulty, net=lambda: conv_net(64, nn.Identity), **how):
    return conv_training(net(), layout=torch.contiguous_format if faulty else torch.channels_last, **how)


@case("channels_last",
      fault="a net of convolutions and batch norms runs on NCHW tensors: transposes, and slow norm kernels besides",
      fix="model and input in torch.channels_last",
      unseen=dict(net=lambda: conv_net(72, nn.BatchNorm2d, kernel=5), batch=80, autocast=FP16))
def conv_nchw_norm(faulty, net=lambda: conv_net(64, nn.BatchNorm2d), **how):
    return conv_training(net(), layout=torch.contiguous_format if faulty else torch.channels_last, **how)


@case("allocator_churn",
      fault="torch.cuda.empty_cache() in every step, so the memory is asked of the driver anew in each",
      fix="no such call", options={"profile_memory": True},
      unseen=dict(program=lambda: training(gated_mlps(2048, 5632, 2), 12, 768, 2048)))
def alloc_churn(faulty, program=lambda: training(transformer(1024, 2), 16, 1024, 1024)):
    train, samples = program()

    def step():
        train()
        if faulty:
            torch.cuda.empty_cache()

    return step, samples


@case("launch_bound",
      fault="a batch of 8, whose kernels end sooner than the host can launch them", fix="a batch of 64",
      unseen=dict(fault="a batch of 4 sentences, whose kernels end sooner than the host can launch them",
                  fix="a batch of 48", small=4, large=48,
                  program=lambda batch: training(decoder(768, 2048, 3, head=64), batch, 256, 768)))
def small_batch(faulty, small=8, large=64, program=lambda batch: training(transformer(1024, 2), batch, 512, 1024)):
    return program(small if faulty else large)


@case("launch_bound",
      fault="inference in many small kernels, launched one by one", fix="the same kernels replayed from a CUDA graph",
      active=6,
      unseen=dict(net=lambda: decoder(384, 1024, 5, head=48), shape=(16, 48, 384)))
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


@case("compilation",
      fault="the first of five recorded steps compiles a function", fix="three steps before the recording", active=5,
      cold=True,
      unseen=dict(fault="the first of four recorded steps compiles a function", active=4,
                  function=hand_written_mish, program=lambda act: training(mlps(1280, 2, act), 20480, 1280)))
def first_step_compile(faulty, function=hand_written_gelu, warm=3,
                       program=lambda activation: training(mlps(1024, 2, activation), 32768, 1024)):
    train, samples = program(compiled(function))
    if not faulty:
        for _ in range(warm):
            train()
    return train, samples


@case("compilation",
      fault="torch.compile(dynamic=False) and a new length in every step: each compiles again",
      fix="torch.compile(dynamic=True): one program for all lengths", cold=True,
      unseen=dict(function=hand_written_mish, width=896,
                  shapes=[(40, length, 896) for length in range(512, 384, -16)]))
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


@functools.cache
def distances(heads, length):
    """A bias that falls with distance, steeper for each head."""
    places = torch.arange(length, device="cuda")
    slopes = 2.0 ** -torch.arange(1, heads + 1, device="cuda")
    return (-slopes[:, None, None] * (places[:, None] - places).abs()).to(BF16)


def biased_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=distances(q.shape[1], q.shape[2]))


def biased_attention_by_hand(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + distances(q.shape[1], q.shape[2])
    return torch.softmax(scores, -1) @ v


@case("unfused_attention",
      fault="attention written as softmax(QK')V, which stores the whole matrix of scores",
      fix="F.scaled_dot_product_attention",
      unseen=dict(fault="attention with a bias for distance, written as softmax(QK' + bias)V, which stores the "
                        "whole matrix of scores", fix="F.scaled_dot_product_attention(attn_mask=bias)",
                  by_hand=biased_attention_by_hand, built_in=biased_attention,
                  program=lambda attend: training(transformer(768, 3, attend=attend), 12, 1280, 768)))
def math_attention(faulty, by_hand=attention_by_hand, built_in=F.scaled_dot_product_attention,
                   program=lambda attend: training(transformer(1024, 2, attend=attend), 8, 2048, 1024)):
    return program(by_hand if faulty else built_in)


@case("optimizer",
      fault="AdamW(foreach=False): eight kernels a parameter, each a pass over memory", fix="AdamW(fused=True)",
      unseen=dict(fault="Adam(foreach=False, amsgrad=True): ten kernels a parameter, each a pass over memory",
                  fix="Adam(fused=True, amsgrad=True)",
                  program=lambda **how: training(gated_mlps(2560, 6912, 2), 768, 2560, dtype=FP32, autocast=BF16,
                                                 optimizer=torch.optim.Adam, amsgrad=True, **how)))
def loop_optimizer(faulty, program=lambda **how: training(mlps(4096, 3), 1024, 4096, weights=FP32, autocast=BF16,
                                                          **how)):
    return program(**({"fused": False, "foreach": False} if faulty else {"fused": True}))


def weighted_training(faulty):
    model = gated_mlps(1024, 2816, 3).cuda().to(BF16)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    x, y = noise(20480, 1024), noise(20480, 1024)

    def step():
        error = (model(x) - y).square().mean(1).float()
        if faulty:
            size = error.detach().cpu().numpy()
            weight = torch.from_numpy(size.clip(*np.quantile(size, [0.1, 0.9])) / size.mean()).cuda()
        else:
            size = error.detach()
            low, high = torch.quantile(size, torch.tensor([0.1, 0.9], device="cuda"))
            weight = size.clamp(low, high) / size.mean()
        (error * weight).mean().backward()
        adam.step()
        adam.zero_grad()

    return step, len(x)


@case("round_trips",
      fault="an activation goes to the CPU to be clamped and back, and so does its gradient",
      fix="it is clamped on the GPU",
      unseen=dict(build=weighted_training,
                  fault="the weights of the samples are worked out in NumPy between two copies",
                  fix="they are worked out on the GPU"))
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


@case("gemm_alignment",
      fault="a vocabulary of 50257, so the matrices' rows are not aligned for the tensor cores' fast loads",
      fix="the vocabulary padded to 50304, a multiple of 64",
      unseen=dict(fault="gated MLPs 4099 wide, so the matrices' rows are not aligned for the tensor cores' fast loads",
                  fix="their width padded to 4160, a multiple of 64", odd=4099, padded=4160,
                  program=lambda hidden: training(gated_mlps(1536, hidden, 2), 12288, 1536)))
def odd_gemm(faulty, odd=50257, padded=50304, program=language_training):
    return program(odd if faulty else padded)


@case("uneven_steps host_stalls",
      fault="every fourth step calls gc.collect() in a program that holds many objects", fix="no such call", active=8,
      options={"with_stack": True},
      unseen=dict(fault="every second step calls gc.collect() in a program that holds many nested lists", every=2,
                  active=4, hold=lambda: [[number, [number]] for number in range(500_000)],
                  program=lambda: training(mlps(1280, 2), 16384, 1280)))
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


class Sentences(torch.utils.data.Dataset):
    """Texts that are split into words and numbered."""

    def __init__(self):
        words = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("ala", "ero", "imi", "onu", "utu", "ani", "eri")]
        choose = np.random.default_rng(0)
        self.texts = [" ".join(choose.choice(words, 2048)) for _ in range(64)]
        self.numbers = {word: number for number, word in enumerate(words)}

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        words = self.texts[index % len(self.texts)].lower().split()
        return np.array([self.numbers.get(word, 0) for word in words])[:512]


def learn_photos(batch):
    model = conv_net(192, nn.BatchNorm2d).cuda().to(memory_format=torch.channels_last)
    train = trainer(model, autocast=BF16, loss=F.cross_entropy)
    y = torch.randint(1000, (batch,), device="cuda")
    return lambda pictures: train(pictures.permute(0, 3, 1, 2), y)


def learn_sentences(batch):
    model = nn.Sequential(nn.Embedding(1024, 768), *transformer(768, 2), nn.Linear(768, 1000)).cuda()
    train = trainer(model, autocast=BF16, loss=lambda x, y: F.cross_entropy(x.mean(1), y))
    y = torch.randint(1000, (batch,), device="cuda")
    return lambda numbers: train(numbers, y)


@case("data_loading",
      fault="DataLoader(num_workers=0): the training loop prepares the pictures itself",
      fix="num_workers=12: other processes do, ahead of time",
      unseen=dict(fault="DataLoader(num_workers=0): the training loop splits and numbers the words itself",
                  fix="num_workers=8: other processes do, ahead of time", data=Sentences, batch=96, workers=8,
                  learner=learn_sentences))
def slow_loader(faulty, data=lambda: Photos(160), batch=64, workers=12, learner=learn_photos):
    how = {"num_workers": 0} if faulty else {"num_workers": workers, "prefetch_factor": 4}
    batches = iter(torch.utils.data.DataLoader(data(), batch_size=batch, pin_memory=True, **how))
    learn = learner(batch)
    return lambda: learn(next(batches).to("cuda", non_blocking=True)), batch


@case("profiler_overhead",
      fault="recorded with shapes, stacks and memory, which slows the host down",
      fix="the same program recorded with none of them",
      options={"with_stack": True, "profile_memory": True}, fixed_options={},
      unseen=dict(net=lambda: transformer(640, 3), shape=(8, 96, 640)))
def with_stack_overhead(faulty, net=lambda: transformer(512, 4), shape=(16, 128, 512)):
    model = net().cuda().to(BF16).eval()
    x = noise(*shape)

    @torch.no_grad()
    def step():
        model(x)

    return step, len(x)


def weighted_error(outputs, targets, weights):
    return ((outputs - targets).square().mean((1, 2)) * weights).mean()


@case("small_copies",
      fault="the weights of the samples are uploaded number by number with torch.tensor(device='cuda')",
      fix="one upload of all of them from pinned memory",
      unseen=dict(fault="the targets of the samples are uploaded one by one with torch.tensor(device='cuda')",
                  numbers=[1 + index / 64 for index in range(64)], net=lambda: mlps(768, 3), shape=(64, 384, 768)))
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
