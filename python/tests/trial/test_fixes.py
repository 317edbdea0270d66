"""Each fix in a small program on a CPU: what it says of itself, and what the program sees of it."""

from __future__ import annotations

import ast

import pytest

from stepscope._trial.fixes import FIXES

pytest.importorskip("torch", reason="PyTorch is not installed")

#: A model that trains; `iterate` returns its loss.
TRAINS = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.{optimizer}
inputs, targets = torch.randn(64, 16), torch.randn(64, 1)
def iterate():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()
"""
ADAMW = TRAINS.format(optimizer="AdamW(model.parameters(), lr=0.01)")


def test_every_fix_can_be_typed_shown_and_pasted():
    for name, fix in FIXES.items():
        assert fix.name == name and fix.title and fix.numbers in ("same", "close")
        ast.parse(fix.code)
    assert {name for name, fix in FIXES.items() if fix.group == "compile"} == {"compile", "compile-graphs"}


def test_a_program_without_pytorch_takes_nothing(tried):
    got = tried("seen = 1", *FIXES, fresh=True)
    assert got.seen == 1 and not any(took for took, _ in got.effects.values())
    assert {evidence for _, evidence in got.effects.values()} == {"the program did not import PyTorch"}


# Data loaders

LOADER = """
import os
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
def by():
    return -1 if get_worker_info() is None else get_worker_info().id
class Numbers(Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, index):
        return index, by()
torch.manual_seed(1)
loader = DataLoader({loader})
epochs = [[batch for batch in loader] for _ in range(3)]
seen = dict(
    workers=loader.num_workers,
    persistent=loader.persistent_workers,
    order=[[int(number) for numbers, _ in epoch for number in numbers] for epoch in epochs],
    by=sorted({{int(worker) for epoch in epochs for _, workers in epoch for worker in workers}}),
    drawn=torch.rand(1).item(),
)
"""
SHUFFLED = LOADER.format(loader="Numbers(), batch_size=4, shuffle=True")


def test_workers_load_the_same_batches_in_the_same_order(tried):
    plain, got = tried(SHUFFLED), tried(SHUFFLED, "loader-workers", fresh=True)
    workers = got.seen["workers"]
    assert plain.seen["workers"] == 0 and plain.seen["by"] == [-1]
    assert got.took and f"{workers} worker" in got.evidence and "none before" in got.evidence
    assert f"num_workers={workers}" in FIXES["loader-workers"].code
    assert got.seen["by"] == list(range(workers)) and got.seen["persistent"]
    assert (got.seen["order"], got.seen["drawn"]) == (plain.seen["order"], plain.seen["drawn"])
    assert plain.seen["order"][0] != plain.seen["order"][1]


SPLIT = """
class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return ((number, by()) for number in range(first, 32, step))
"""


def iterable(dataset: str) -> str:
    return LOADER.replace("torch.manual_seed(1)", dataset + "torch.manual_seed(1)").format(
        loader="Stream(), batch_size=4"
    )


def test_an_iterable_dataset_that_splits_itself_gets_workers(tried):
    got = tried(iterable(SPLIT), "loader-workers")
    assert got.took and got.seen["workers"] > 0
    assert sorted(got.seen["order"][0]) == list(range(32))


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (LOADER.format(loader="Numbers(), num_workers=3"), "has 3 workers already"),
        (
            iterable("""
class Stream(IterableDataset):
    def __iter__(self):
        return ((number, -1) for number in range(32))
"""),
            "does not split itself",
        ),
        (
            SHUFFLED.replace("return index,", "assert os.getpid() == parent; return index,").replace(
                "import torch\n", "import torch\nparent = os.getpid()\n", 1
            ),
            "could not fetch a sample: AssertionError",
        ),
        ("import torch", "no DataLoader"),
    ],
    ids=["has workers", "would repeat its data", "cannot be loaded elsewhere", "no loader"],
)
def test_workers_stay_out(program, why, tried):
    plain, got = tried(program), tried(program, "loader-workers")
    assert not got.took and why in got.evidence
    assert got.seen == plain.seen


# Optimizers


def losses(program: str, count: int = 5) -> str:
    return program + f"seen = dict(losses=[iterate() for _ in range({count})], fused=optimizer.defaults.get('fused'))\n"


@pytest.mark.parametrize("kind", ["AdamW", "Adam", "SGD", "Adagrad"])
def test_an_optimizer_is_fused(kind, tried):
    program = losses(TRAINS.format(optimizer=f"{kind}(model.parameters(), lr=0.01)"))
    plain, got = tried(program), tried(program, "fused-optimizer")
    assert got.took and got.evidence == f"fused=True in 1 optimizer ({kind}), and its kernel ran"
    assert not plain.seen["fused"] and got.seen["fused"]
    assert got.seen["losses"] == pytest.approx(plain.seen["losses"], rel=1e-4)
    assert got.seen["losses"][-1] < got.seen["losses"][0]


def test_a_resumed_optimizer_is_fused_and_counts_on(tried):
    program = (
        ADAMW
        + """
iterate()
state = optimizer.state_dict()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
optimizer.load_state_dict(state)
steps = 0
def stepped(*_):
    global steps
    steps += 1
from torch.optim.optimizer import register_optimizer_step_post_hook
register_optimizer_step_post_hook(stepped)
losses = [iterate() for _ in range(3)]
(state, *_) = optimizer.state.values()
seen = dict(losses=losses, step=state["step"].item(), steps=steps)
"""
    )
    plain, got = tried(program), tried(program, "fused-optimizer")
    assert got.took and got.seen["losses"] == pytest.approx(plain.seen["losses"], rel=1e-4)
    assert got.seen["step"] == 4 and got.seen["steps"] == 3, "what tries the kernel is not a step of the program"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (losses(TRAINS.format(optimizer="AdamW(model.parameters(), fused=False)")), "the program sets fused itself"),
        (losses(TRAINS.format(optimizer="RMSprop(model.parameters())")), "RMSprop has no fused kernel"),
        (
            losses(ADAMW.replace("optimizer = ", "class Mine(torch.optim.AdamW): pass\noptimizer = Mine; ")).replace(
                "optimizer = Mine; torch.optim.AdamW", "optimizer = Mine"
            ),
            "Mine is not an optimizer of PyTorch",
        ),
        (
            """
import torch
table = torch.nn.Embedding(8, 4, sparse=True)
optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
table(torch.tensor([1, 2])).sum().backward()
optimizer.step()
seen = table.weight.grad.is_sparse
""",
            "some gradients are sparse",
        ),
        ("import torch", "no step"),
    ],
    ids=["set by the program", "no kernel", "a class of its own", "sparse", "no optimizer"],
)
def test_an_optimizer_stays_as_it_is(program, why, tried):
    got = tried(program, "fused-optimizer")
    assert not got.took and why in got.evidence


# Precision and layout

SEES_TYPES = (
    ADAMW
    + """
types = []
model[0].register_forward_hook(lambda module, inputs, output: types.append(str(output.dtype)))
losses = [iterate() for _ in range(3)]
after = str(torch.mm(inputs[:16], inputs[:16]).dtype)
with torch.no_grad():
    array = model(inputs).numpy()
seen = dict(types=sorted(set(types)), after=after, array=str(array.dtype), losses=losses)
seen["on"] = torch.is_autocast_cpu_enabled()
"""
)


def test_products_are_in_bfloat16_from_forward_to_backward(tried):
    plain, got = tried(SEES_TYPES), tried(SEES_TYPES, "autocast")
    assert plain.seen["types"] == ["torch.float32"] and got.seen["types"] == ["torch.bfloat16"]
    assert got.took and "bfloat16 in 4 forward calls" in got.evidence and "NumPy" in got.evidence
    assert (got.seen["after"], got.seen["array"], got.seen["on"]) == ("torch.float32", "float32", False)
    assert got.seen["losses"] == pytest.approx(plain.seen["losses"], rel=0.05)


def test_checkpoints_that_restore_autocast_are_not_the_program_using_it(tried):
    program = losses(
        ADAMW.replace("model(inputs)", "torch.utils.checkpoint.checkpoint(model, inputs, use_reentrant=False)").replace(
            "import torch\n", "import torch\nimport torch.utils.checkpoint\n"
        )
    )
    plain, got = tried(program), tried(program, "autocast")
    assert got.took, got.evidence
    assert got.seen["losses"] != plain.seen["losses"]
    assert got.seen["losses"] == pytest.approx(plain.seen["losses"], rel=0.05)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            ("loss = ", "with torch.autocast('cpu', dtype=torch.bfloat16):\n        loss = "),
            "uses autocast itself",
        ),
        (
            ("def iterate", "@torch.autocast('cpu', dtype=torch.bfloat16)\ndef iterate"),
            "uses autocast itself",
        ),
        (("inputs, targets", "scaler = torch.amp.GradScaler('cpu')\ninputs, targets"), "GradScaler"),
        (("optimizer =", "model.double()\noptimizer ="), "in float64 already"),
    ],
    ids=["autocast", "autocast as a decorator", "scaler", "another type"],
)
def test_autocast_stays_out(change, why, tried):
    program = ADAMW.replace(*change, 1)
    if "double" in program:
        program = program.replace(
            "targets = torch.randn(64, 16), torch.randn(64, 1)",
            "targets = torch.randn(64, 16).double(), torch.randn(64, 1).double()",
        )
    got, plain = tried(losses(program), "autocast"), tried(losses(program))
    assert not got.took and why in got.evidence
    if "autocast" not in why:
        assert got.seen == plain.seen


CONVOLVES = """
import torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.second = torch.nn.Conv2d(8, 4, 3, padding=1)
        self.last = torch.nn.Linear(4 * 8 * 8, 2)
    def forward(self, images):
        self.hidden = torch.relu(self.second(torch.relu(self.first(images))))
        return self.last({flat})
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
images = torch.randn(2, 3, 8, 8)
def iterate():
    optimizer.zero_grad()
    loss = model(images).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()
losses = [iterate() for _ in range(3)]
last = dict(memory_format=torch.channels_last)
seen = dict(
    losses=losses,
    weight=model.second.weight.is_contiguous(**last),
    hidden=model.hidden.is_contiguous(**last),
    images=images.is_contiguous(**last),
)
"""


def test_channels_are_last_inside_the_model(tried):
    program = CONVOLVES.format(flat="self.hidden.flatten(1)")
    plain, got = tried(program), tried(program, "channels-last")
    assert got.took and got.evidence == "2 weights of convolutions and their gradients are channels last"
    assert not plain.seen["weight"] and not plain.seen["hidden"]
    assert got.seen["weight"] and got.seen["hidden"] and not got.seen["images"]
    assert got.seen["losses"] == pytest.approx(plain.seen["losses"], rel=1e-4)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (CONVOLVES.format(flat="self.hidden.view(2, -1)"), "Net cannot work channels last: RuntimeError: view size"),
        (
            CONVOLVES.format(flat="self.hidden.flatten(1)").replace(
                "model = Net()", "model = Net().to(memory_format=torch.channels_last)"
            ),
            "already",
        ),
        (losses(ADAMW), "has no two-dimensional convolutions"),
    ],
    ids=["the model has a view", "the program has it", "no convolution"],
)
def test_channels_stay_where_they_are(program, why, tried):
    plain, got = tried(program), tried(program, "channels-last")
    assert not got.took and why in got.evidence
    assert got.seen == plain.seen


# Calls that do nothing

COLLECTS = """
import gc
import weakref
from gc import collect
import torch
class Circle:
    def __init__(self):
        self.itself = self
def is_collected():
    reference = weakref.ref(Circle())
    gc.collect()
    collect()
    torch.cuda.empty_cache()
    return reference() is None
gc.disable()
seen = [is_collected()]
model = torch.nn.Linear(2, 2)
for _ in range(3):
    model(torch.ones(1, 2))
    seen.append(is_collected())
"""


def test_garbage_is_not_collected_by_hand_in_the_loop(tried):
    assert tried(COLLECTS).seen == [True] * 4
    got = tried(COLLECTS, "keep-cache")
    assert got.took and got.evidence == "6 calls of gc.collect did nothing"
    assert got.seen == [True, False, False, False]


def test_a_loop_that_collects_nothing_has_nothing_to_keep(tried):
    got = tried(losses(ADAMW), "keep-cache")
    assert not got.took and "does not do that" in got.evidence


# Distributed training and inference

DISTRIBUTED = """
import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(8, 1){options})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(3):
    optimizer.zero_grad(set_to_none=False)
    loss = model(torch.ones(2, 8)).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
weight, bias = model.parameters()
seen = dict(
    losses=losses,
    shared=weight.grad.untyped_storage().data_ptr() == bias.grad.untyped_storage().data_ptr(),
)
torch.distributed.destroy_process_group()
"""


def test_gradients_are_views_of_buckets(tried):
    program = DISTRIBUTED.format(options="")
    plain, got = tried(program), tried(program, "ddp-views")
    assert got.took and got.evidence == "2 gradients in 1 bucket, without copies"
    assert got.seen["shared"] and not plain.seen["shared"]
    assert got.seen["losses"] == plain.seen["losses"]


def test_a_program_that_decides_about_views_keeps_them(tried):
    got = tried(DISTRIBUTED.format(options=", gradient_as_bucket_view=False"), "ddp-views")
    assert not got.took and "itself" in got.evidence and not got.seen["shared"]
    assert tried(losses(ADAMW), "ddp-views").evidence == "the program has no DistributedDataParallel"


INFERS = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 4)
{before}
seen = []
for number in range(12):
    output = model(torch.ones(2, 4))
    {after}
    output[output < 0] = 0
    seen.append([output.requires_grad, output.is_inference(), output.sum().item()])
"""


def test_a_program_that_never_goes_backward_gets_inference_mode(tried):
    program = INFERS.format(before="", after="pass")
    plain, got = tried(program), tried(program, "inference-mode", inference_mode={"calls_before": 8})
    assert got.took and got.evidence == "4 calls of 12 ran in inference mode"
    assert [each[:2] for each in got.seen] == [[True, False]] * 8 + [[False, True]] * 4
    assert [each[2] for each in got.seen] == [each[2] for each in plain.seen]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("torch.set_grad_enabled(False)", "pass", "without gradients already"),
        ("", "output.sum().backward() if number == 2 else None; output = output.detach()", "computes gradients"),
        ("optimizer = torch.optim.SGD(model.parameters(), lr=0.1)", "pass", "has an optimizer"),
    ],
    ids=["without gradients", "backward", "optimizer"],
)
def test_inference_mode_stays_out(before, after, why, tried):
    program = INFERS.format(before=before, after=after)
    plain, got = tried(program), tried(program, "inference-mode", inference_mode={"calls_before": 8})
    assert not got.took and why in got.evidence
    assert got.seen == plain.seen


# Switches, and what needs a GPU

SWITCHES = ("tf32", "cudnn-benchmark")
NEEDS_GPU = (
    "pinned-loader",
    *SWITCHES,
    "compile-graphs",
    "attention-backend",
    "flash-attention",
    "no-synchronize",
    "async-copies",
    "expandable-segments",
)


def test_what_needs_a_gpu_stays_out_without_one(tried):
    program = losses(ADAMW) + (
        "for _ in torch.utils.data.DataLoader(inputs): pass\n"
        "import os\nseen['set'] = [name for name in os.environ if name.endswith('ALLOC_CONF')]\n"
        "seen['gpu'] = torch.cuda.is_available()\n"
    )
    plain, got = tried(program), tried(program, *NEEDS_GPU)
    if plain.seen["gpu"]:
        pytest.skip("this machine has a GPU")
    assert got.effects == dict.fromkeys(NEEDS_GPU, (False, "there is no CUDA device"))
    assert got.seen["losses"] == plain.seen["losses"]
    assert got.seen["set"] and not plain.seen["set"], "the allocator reads it when CUDA starts, so it is set at once"


def test_switches_that_the_program_sets_are_its_own(tried):
    program = """
import torch
before = torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark
{sets}
torch.backends.cudnn.benchmark = False
seen = [*before, torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark]
"""
    for sets in ("torch.set_float32_matmul_precision('highest')", "torch.backends.cuda.matmul.allow_tf32 = False"):
        got = tried(program.format(sets=sets), *SWITCHES)
        assert all(not took and "the program sets" in why for took, why in got.effects.values()), got.effects
        assert got.seen == ["high", True, "highest", False]


def test_an_allocator_that_is_set_up_stays_so(monkeypatch, tried):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64")
    got = tried("import torch", "expandable-segments")
    assert not got.took and got.evidence == "PYTORCH_CUDA_ALLOC_CONF is set already"


# All together


def test_fixes_work_together_and_leave_the_model_as_it_is(tried):
    program = CONVOLVES.format(flat="self.hidden.flatten(1)").replace(
        "losses = [", "loader = torch.utils.data.DataLoader(torch.ones(8, 1))\nfor _ in loader: pass\nlosses = ["
    )
    program += "seen['keys'], seen['kind'] = sorted(model.state_dict()), type(model).__name__\n"
    names = [name for name in FIXES if name != "compile-graphs"]
    plain, got = tried(program), tried(program, *names, fresh=True, compile={"options": {"backend": "eager"}})
    took = {name for name, (took, _) in got.effects.items() if took}
    assert took >= {"loader-workers", "fused-optimizer", "autocast", "channels-last", "compile"}, got.effects
    assert (got.seen["keys"], got.seen["kind"]) == (plain.seen["keys"], plain.seen["kind"])
    assert got.seen["losses"] == pytest.approx(plain.seen["losses"], rel=0.05)


def test_a_bad_fix_is_bad(tried):
    """For those who have to notice: the loss no longer falls, while the steps are still counted."""
    program = (
        ADAMW
        + """
steps = 0
def stepped(*_):
    global steps
    steps += 1
from torch.optim.optimizer import register_optimizer_step_post_hook
register_optimizer_step_post_hook(stepped)
losses = [iterate() for _ in range(4)]
seen = dict(losses=losses, steps=steps)
"""
    )
    plain, got = tried(program), tried(program, "skipped-steps")
    assert got.took and got.seen["steps"] == plain.seen["steps"] == 4
    assert len(set(plain.seen["losses"])) == 4 and len(set(got.seen["losses"])) == 1
