"""Data loaders: worker processes, and batches in pinned memory.

Both are decided when a loader is first iterated: by then the program has set what it wants to set.
"""

from __future__ import annotations

import os
import sys
import weakref
from types import CodeType, FunctionType
from typing import Any, Callable

from .base import SAME, Fix, Refused, counted, first_line, shortened

#: A program with more workers than this has chosen their number itself.
_FEW_WORKERS = 2
_MAX_WORKERS = 8
#: Batches that each worker prepares ahead, as PyTorch's default has it.
_PREFETCH = 2
#: For the first sample that a worker fetches, as a trial.
_TRIAL_SECONDS = 60
#: Share of the shared memory that batches may take.
_MAX_SHARE = 0.8
_SHARED_MEMORY = "/dev/shm"


def useful_workers() -> int:
    """A core for each worker and one for the program, shared by the ranks of this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "1")
    cores //= max(int(ranks) if ranks.isdigit() else 1, 1)
    return max(min(cores - 1, _MAX_WORKERS), 1)


def when_iterated(
    module: Any,
    decide: Callable[[Any], None],
    again: Callable[[Any], None] = lambda loader: None,
    iterated: Callable[[Any, Any], None] = lambda loader, iterator: None,
) -> None:
    """Call ``decide(loader)`` before a loader is iterated for the first time, ``again(loader)`` before later times, and
    ``iterated(loader, iterator)`` after each. ``module`` is ``torch.utils.data.dataloader``."""
    plain = module.DataLoader.__iter__
    known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def iterate(loader: Any) -> Any:
        if known.get(id(loader)) is not loader:
            known[id(loader)] = loader
            decide(loader)
        else:
            again(loader)
        iterator = plain(loader)
        iterated(loader, iterator)
        return iterator

    module.DataLoader.__iter__ = iterate


class LoaderWorkers(Fix):
    name = "loader-workers"
    title = "loader workers"
    numbers = SAME
    code = f"DataLoader(..., num_workers={useful_workers()}, persistent_workers=True)"

    def __init__(self) -> None:
        super().__init__()
        self.wanted = useful_workers()
        #: Workers that loaders had, of those that were given more, and how many processes then worked for each.
        self._had: dict[int, int] = {}
        self._working: dict[int, int] = {}
        #: Loaders whose workers ended with each epoch.
        self._ended: set[int] = set()

    def prepare(self, torch: Any) -> None:
        self.when_imported("torch.utils.data.dataloader", self._watch)

    def observe(self) -> str:
        if not self._working:
            raise Refused(self.reason or "the program iterated no DataLoader")
        fewest, most = min(self._working.values()), max(self._working.values())
        if not fewest:
            raise Refused("no worker was alive")
        workers = counted(most, "worker") if fewest == most else f"{fewest} to {most} workers"
        return f"{workers} in {counted(len(self._working), 'loader')} ({max(self._had.values()) or 'none'} before)"

    def _watch(self, module: Any) -> None:
        def decide(loader: Any) -> None:
            self.consider(lambda: self._decide(module, loader))

        when_iterated(module, decide, self._again, self._iterated)

    def _decide(self, module: Any, loader: Any) -> None:
        had = loader.num_workers
        if self.elsewhere:
            return
        if had > _FEW_WORKERS or had >= self.wanted:
            raise Refused(f"the program has {counted(had, 'worker')} already")
        if not had and start_method(self.torch) != "fork":
            raise Refused("workers are not forked here, and a program has to be written for workers that start anew")
        if not splits_itself(self.torch, loader.dataset):
            raise Refused("its iterable dataset does not split itself among workers (get_worker_info)")
        workers = self.wanted
        room = free_shared_memory()
        size = self._bytes_of_batch(module, loader)
        if room is not None and size:
            workers = min(workers, int(room * _MAX_SHARE / size / _PREFETCH))
        if workers <= had:
            raise Refused(f"{_SHARED_MEMORY} has no room for batches of more workers")
        self._had[id(loader)] = had
        if not loader.persistent_workers:
            self._ended.add(id(loader))
        loader.num_workers = workers
        loader.prefetch_factor = loader.prefetch_factor or _PREFETCH
        loader.__dict__["persistent_workers"] = True  # a loader refuses it as an attribute

    def _bytes_of_batch(self, module: Any, loader: Any) -> int:
        """What a batch takes in shared memory. A worker fetches one sample, so that what cannot be done in another
        process (a dataset on the GPU, or one that cannot be pickled) is known before the program needs it."""
        torch = self.torch
        iterable = isinstance(loader.dataset, torch.utils.data.IterableDataset)
        options: dict[str, Any] = {} if iterable else {"sampler": [0]}
        try:
            trial = module.DataLoader(
                loader.dataset,
                batch_size=None if loader.batch_size is None and loader.batch_sampler is None else 1,
                num_workers=1,
                collate_fn=loader.collate_fn,
                worker_init_fn=loader.worker_init_fn,
                multiprocessing_context=loader.multiprocessing_context,
                timeout=_TRIAL_SECONDS,
                # The program's own random numbers must be the same as without us.
                generator=torch.Generator(),
                **options,
            )
            # Not `next`: it is not a batch of the program, and whoever counts those must not see it.
            sample = trial._get_iterator()._next_data()
        except Exception as error:
            # The error of a worker has the worker's traceback in it, and ends in what went wrong there.
            text = str(error).strip() or type(error).__name__
            raise Refused(f"a worker process could not fetch a sample: {shortened(text.splitlines()[-1])}")
        batch = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None) or 1
        return bytes_of_tensors(torch, sample) * batch

    def _again(self, loader: Any) -> None:
        if id(loader) in self._ended:
            # Without workers that persist, a seed is drawn in each epoch. Drawing it here keeps what follows (the order
            # of the data above all) as it is without the fix, so that losses can be compared.
            self.torch.empty((), dtype=self.torch.int64).random_(generator=loader.generator)

    def _iterated(self, loader: Any, iterator: Any) -> None:
        if id(loader) in self._had:
            self._working[id(loader)] = sum(worker.is_alive() for worker in getattr(iterator, "_workers", ()))


class PinnedLoader(Fix):
    name = "pinned-loader"
    title = "pinned batches"
    numbers = SAME
    code = "DataLoader(..., pin_memory=True)"

    def __init__(self) -> None:
        super().__init__()
        self._loaders = 0
        self._pinned = False
        self._failure: str | None = None

    def prepare(self, torch: Any) -> None:
        self.when_imported("torch.utils.data.dataloader", self._watch)

    def observe(self) -> str:
        self.needs_cuda()
        if not self._loaders:
            raise Refused(self.reason or "the program iterated no DataLoader")
        if not self._pinned:
            raise Refused(self._failure or "no tensor of a batch was pinned")
        return f"batches of {counted(self._loaders, 'loader')} come from pinned memory"

    def _watch(self, module: Any) -> None:
        when_iterated(module, lambda loader: self.consider(lambda: self._decide(loader)))
        when_pinned(module, self._seen, self._failed)

    def _decide(self, loader: Any) -> None:
        if loader.pin_memory:
            raise Refused("the program pins its batches already")
        if self.torch.cuda.is_available() and not self.elsewhere:
            loader.pin_memory = True
            self._loaders += 1

    def _seen(self, tensor: Any) -> None:
        if not self._pinned:
            self._pinned = bool(tensor.is_pinned())

    def _failed(self, error: Exception) -> None:
        self._failure = f"a batch cannot be pinned: {first_line(error)}"


def when_pinned(
    module: Any, pinned: Callable[[Any], None], failed: Callable[[Exception], None] = lambda error: None
) -> None:
    """Call ``pinned`` with each tensor that a loader has pinned. What cannot be pinned (it is on the GPU already, say)
    stays as it is instead of ending the program. ``module`` is ``torch.utils.data.dataloader``."""
    place = sys.modules["torch.utils.data._utils.pin_memory"]
    plain, tensor = place.pin_memory, module.torch.Tensor

    def pin_memory(data: Any, device: Any = None) -> Any:
        try:
            data = plain(data, device)
        except Exception as error:
            failed(error)
        else:
            if isinstance(data, tensor):
                pinned(data)
        return data

    place.pin_memory = pin_memory  # type: ignore[attr-defined]


def splits_itself(torch: Any, dataset: Any) -> bool:
    """Whether workers share a dataset instead of repeating it. A heuristic for iterable ones: some method asks which
    worker it is in."""
    if not isinstance(dataset, torch.utils.data.IterableDataset):
        return True
    functions = (value for kind in type(dataset).__mro__ for value in vars(kind).values())
    return any(_names(function.__code__) for function in functions if isinstance(function, FunctionType))


def _names(code: CodeType) -> bool:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return "get_worker_info" in code.co_names or any(_names(each) for each in inner)


def start_method(torch: Any) -> str:
    """How workers would be started. What is not decided yet stays so: the program may still decide it."""
    return str(
        torch.multiprocessing.get_start_method(allow_none=True) or torch.multiprocessing.get_all_start_methods()[0]
    )


def bytes_of_tensors(torch: Any, value: Any, depth: int = 4) -> int:
    """The bytes of the tensors in lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        return int(value.numel()) * int(value.element_size())
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and depth:
        return sum(bytes_of_tensors(torch, each, depth - 1) for each in value)
    return 0


def free_shared_memory() -> int | None:
    """Where workers put their batches; containers often have 64 MiB, and a worker that wants more is killed."""
    try:
        space = os.statvfs(_SHARED_MEMORY)
    except OSError:
        return None
    return space.f_bavail * space.f_frsize
