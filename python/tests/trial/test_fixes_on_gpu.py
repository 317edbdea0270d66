"""What fixes do that only a GPU shows: each says so itself, and so does a trace of the program or its arithmetic."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")

#: `names(do)`: the kernels and calls of CUDA in a trace of `do()`.
NAMES = """
import torch
from torch.profiler import ProfilerActivity, profile
def names(do):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        do()
        torch.cuda.current_stream().synchronize()
    return sorted(set(event.name for event in profiler.events()))
torch.manual_seed(0)
"""
IMAGES = (
    NAMES
    + """
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU(),
    torch.nn.Conv2d(64, 64, 3, padding=1), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 16),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.cuda()
images, labels = torch.randn(32, 3, 32, 32, device="cuda"), torch.arange(32, device="cuda") % 16
def iterate():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss.detach().clone()
losses = [iterate() for _ in range(20)]
seen = dict(names=names(iterate), losses=[loss.item() for loss in losses])
"""
)


def has(names, *parts):
    return any(part.lower() in name.lower() for part in parts for name in names)


@pytest.mark.parametrize(
    ("name", "parts", "rel"),
    [
        ("fused-optimizer", ("FusedAdam",), 1e-2),
        ("autocast", ("bf16", "bfloat16"), 0.05),
        ("channels-last", ("nhwc",), 0.05),
        ("compile", ("triton_",), 0.05),
        ("compile-graphs", ("cudaGraphLaunch",), 0.05),
        ("cudnn-benchmark", (), 0.05),
    ],
)
def test_a_fix_is_in_the_trace(name, parts, rel, tried):
    plain, got = tried(IMAGES), tried(IMAGES, name)
    assert got.took, got.evidence
    if parts:
        assert has(got.seen["names"], *parts), got.seen["names"]
    if name == "channels-last":
        assert not has(got.seen["names"], "nchwToNhwc")
    elif parts:
        assert not has(plain.seen["names"], *parts)
    assert got.seen["losses"] == pytest.approx(plain.seen["losses"], rel=rel)


def test_products_are_rounded_as_tf32_rounds_them(tried):
    program = """
import torch
torch.manual_seed(0)
left, right = torch.randn(512, 512, device="cuda"), torch.randn(512, 512, device="cuda")
seen = (left @ right - left.double() @ right.double()).abs().max().item()
"""
    plain, got = tried(program), tried(program, "tf32")
    assert got.took, got.evidence
    assert got.seen > 20 * plain.seen


ATTENDS = (
    NAMES
    + """
query, key, value = (torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.{type}) for _ in range(3))
def attend():
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
attend()
seen = names(attend)
"""
)


def test_attention_is_computed_by_cudnn(tried):
    program = ATTENDS.format(type="bfloat16")
    plain, got = tried(program), tried(program, "attention-backend")
    if torch.cuda.get_device_capability() < (8, 0) or not hasattr(torch._C, "_set_sdp_priority_order"):
        pytest.skip("this GPU or this PyTorch has no cuDNN attention")
    by_itself = has(plain.seen, "cudnn")
    assert got.took != by_itself and ("either way" in got.evidence) == by_itself, got.evidence
    assert has(got.seen, "cudnn")
    single = tried(ATTENDS.format(type="float32"), "attention-backend")
    assert not single.took and "either way" in single.evidence
    without = tried(program, "flash-attention")
    assert without.took == by_itself and not has(without.seen, "cudnn"), without.evidence


LOADS = (
    NAMES
    + """
data = torch.utils.data.TensorDataset(torch.arange(64 * 4096, dtype=torch.float32).reshape(64, 4096))
loader = torch.utils.data.DataLoader(data, batch_size=8{options})
sums, pinned = [], []
def epoch():
    for (batch,) in loader:
        pinned.append(batch.is_pinned())
        sums.append(batch.to("cuda"{how}).sum())
epoch()
found = names(epoch)
buffer = torch.zeros(1 << 24).pin_memory()
copied = []
for number in range(8):
    buffer.fill_(number)
    copied.append(buffer.to("cuda"))
seen = dict(
    pinned=pinned, names=found, sums=[each.item() for each in sums], copied=[each[-1].item() for each in copied],
)
"""
)


def test_batches_are_pinned(tried):
    program = LOADS.format(options="", how="")
    plain, got = tried(program), tried(program, "pinned-loader")
    assert got.took and all(got.seen["pinned"]) and not any(plain.seen["pinned"])
    assert got.seen["sums"] == plain.seen["sums"]
    already = tried(LOADS.format(options=", pin_memory=True", how=""), "pinned-loader")
    assert not already.took and "already" in already.evidence


def test_pinned_batches_are_copied_without_waiting(tried):
    program = LOADS.format(options=", pin_memory=True", how="")
    plain, got = tried(program), tried(program, "async-copies")
    assert got.took and got.evidence.startswith("16 copies"), got.evidence
    assert got.seen["sums"] == plain.seen["sums"]
    assert got.seen["copied"] == list(range(8)), "the program's own buffer is copied before it is written to"
    unpinned = tried(LOADS.format(options="", how=""), "async-copies")
    assert not unpinned.took and "pinned-loader" in unpinned.evidence
    together = tried(LOADS.format(options="", how=""), "pinned-loader", "async-copies")
    assert all(took for took, _ in together.effects.values()), together.effects
    itself = tried(LOADS.format(options=", pin_memory=True", how=", non_blocking=True"), "async-copies")
    assert not itself.took and "already" in itself.evidence


WAITS = """
import torch
model = torch.nn.Linear(64, 64).cuda()
source = torch.ones(1 << 20, device="cuda")
target = torch.zeros(1 << 20).pin_memory()
reached, read = [], []
for number in range(4):
    model(torch.ones(1, 64, device="cuda"))
    torch.cuda._sleep(200_000_000)
    if {copies}:
        target.copy_(source * number, non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    torch.cuda.synchronize()
    reached.append(event.query())
    read.append(target[-1].item())
torch.cuda.current_stream().synchronize()
seen = dict(reached=reached, read=read)
"""


def test_the_program_does_not_wait_for_the_gpu(tried):
    got = tried(WAITS.format(copies=False), "no-synchronize")
    assert got.took and got.evidence == "4 calls of torch.cuda.synchronize did nothing"
    assert got.seen["reached"] == [False] * 4
    assert tried(WAITS.format(copies=False)).seen["reached"] == [True] * 4


def test_a_program_that_reads_what_it_copied_keeps_waiting(tried):
    got = tried(WAITS.format(copies=True), "no-synchronize")
    assert not got.took and "has to synchronize" in got.evidence
    assert got.seen["read"] == [0, 1, 2, 3]


def test_memory_stays_in_the_cache(tried):
    program = """
import torch
model = torch.nn.Linear(64, 64).cuda()
seen = []
for _ in range(3):
    model(torch.ones(1, 64, device="cuda"))
    large = torch.ones(1 << 26, device="cuda")
    del large
    torch.cuda.empty_cache()
    seen.append(torch.cuda.memory_reserved())
"""
    plain, got = tried(program), tried(program, "keep-cache")
    assert got.took and got.evidence == "3 calls of torch.cuda.empty_cache did nothing"
    assert min(got.seen) > 1 << 28 > max(plain.seen)


def test_segments_can_grow(tried):
    program = """
import torch
kept = torch.ones(1 << 20, device="cuda")
seen = [segment.get("is_expandable") for segment in torch.cuda.memory_snapshot()]
"""
    plain, got = tried(program, fresh=True), tried(program, "expandable-segments", fresh=True)
    assert got.took and "1 of 1 segment" in got.evidence, got.evidence
    assert all(got.seen) and not any(plain.seen)


def test_results_of_graphs_may_be_kept(tried):
    """The next call writes over them, unless they are copies."""
    program = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).cuda()
kept = []
with torch.no_grad():
    for number in range(12):
        kept.append(model(torch.full((4, 8), float(number), device="cuda")))
seen = [each.sum().item() for each in kept]
"""
    plain, got = tried(program), tried(program, "compile-graphs")
    assert got.took, got.evidence
    assert got.seen == pytest.approx(plain.seen, rel=1e-2)
