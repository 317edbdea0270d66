"""The history of PyTorch's GPU allocator: recorded, saved, and saved by itself when memory runs out.

PyTorch's own functions for this are private and have changed: ``_record_memory_history(enabled=True, max_entries=…)``,
as many guides have it, is an error since PyTorch 2.1. These take either, and write files that ``stepscope memory``
reads.
"""

from __future__ import annotations

import gzip
import os
import pickle
import sys
import warnings
from types import TracebackType
from typing import Any, Callable

from ._writing import whole_path, written_by
from .errors import StepscopeError, StepscopeWarning

MAX_ENTRIES = 100_000
"""Entries of the history that are kept, the newest: about ten minutes of a small model, some seconds of a large one."""
MAX_SNAPSHOTS = 3
"""Snapshots that are saved when memory runs out: a program that catches the error may go on to the next."""
_PICKLE_PROTOCOL = 4

_oom_path: str | None = None
_oom_saved = 0
_observed: Any = None


def _torch() -> Any:
    """PyTorch with an allocator that can be recorded."""
    try:
        import torch
    except ImportError as error:
        hint = "install PyTorch with CUDA or ROCm: https://pytorch.org/get-started"
        raise StepscopeError("recording GPU memory needs PyTorch", hint) from error
    memory = getattr(getattr(torch, "cuda", None), "memory", None)
    if not hasattr(memory, "_record_memory_history"):
        version = getattr(torch, "__version__", "unknown")
        raise StepscopeError(
            f"this PyTorch ({version}) cannot record GPU memory", "use PyTorch 2.1 or later, built for CUDA or ROCm"
        )
    if not torch.cuda.is_available():
        raise StepscopeError(
            "there is no GPU that PyTorch can use", "run on a machine with one; torch.cuda.is_available() must be true"
        )
    return torch


class Recording:
    """A history that is being recorded; :meth:`stop` ends it, and so does leaving its ``with``."""

    def __init__(self, path: str | os.PathLike[str] | None, options: dict[str, Any], batch: int | None = None) -> None:
        self._path = None if path is None else os.fspath(path)
        self._batch = batch
        self._options = options
        self.active = False

    def start(self) -> Recording:
        """Records from here on; what was recorded before is forgotten."""
        torch = _torch()
        torch.cuda.memory._record_memory_history("all", **self._options)
        self.active = True
        return self

    def stop(self) -> None:
        """Ends it. The history is gone after that: take a :meth:`snapshot` before."""
        if self.active:
            self.active = False
            _torch().cuda.memory._record_memory_history(None)

    def snapshot(self, path: str | os.PathLike[str]) -> str:
        """Writes what is known by now; see :func:`snapshot`."""
        return snapshot(path, batch=self._batch)

    def __enter__(self) -> Recording:
        return self if self.active else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._path is not None and self.active:
                snapshot(self._path, batch=self._batch)
        finally:
            self.stop()


def record(
    max_entries: int = MAX_ENTRIES,
    *,
    path: str | os.PathLike[str] | None = None,
    oom_path: str | os.PathLike[str] | None = None,
    stacks: str = "python",
    device: Any = None,
    batch: int | None = None,
    enabled: bool | str | None = True,
) -> Recording:
    """Records who allocates and frees GPU memory, beginning now.

    ``with record(path="memory.pickle"):`` saves a snapshot at its end, even if the program fails; without ``with``,
    call :func:`snapshot` and then ``.stop()``. The newest ``max_entries`` are kept. ``stacks="all"`` adds the frames of
    C++, which take more time and show who ran the backward pass. ``oom_path`` saves a snapshot when memory runs out,
    see :func:`save_on_oom`. ``batch`` is the number of samples per step: ``stepscope memory A B --fit`` needs it.
    ``enabled=False`` ends recording, as in PyTorch.
    """
    if isinstance(max_entries, bool) or not isinstance(max_entries, int) or max_entries < 1:
        said = f"max_entries must be a whole number of 1 or more, not {max_entries!r}"
        raise StepscopeError(said, f"leave it out for {MAX_ENTRIES:,}")
    if stacks not in ("python", "all"):
        raise StepscopeError(f"stacks cannot be {stacks!r}", "use 'python', or 'all' for the frames of C++ too")
    _check_batch(batch)
    options: dict[str, Any] = {"stacks": stacks, "max_entries": max_entries}
    if device is not None:
        options["device"] = device
    recording = Recording(path, options, batch)
    if not enabled:
        recording.active = True
        recording.stop()
        return recording
    if oom_path is not None:
        save_on_oom(oom_path)
    return recording.start()


def _check_batch(batch: int | None) -> None:
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise StepscopeError(
            f"batch must be a whole number of 1 or more, not {batch!r}", "give the number of samples per step"
        )


def snapshot(path: str | os.PathLike[str], *, batch: int | None = None) -> str:
    """Writes what PyTorch's allocator holds and the history that led there; returns the path.

    Read it with ``stepscope memory PATH``, or PyTorch's own viewer. An ending of ``.gz`` compresses it. Without
    :func:`record` before, there are no stacks and no history in it. ``batch`` is the number of samples per step:
    ``stepscope memory A B --fit`` needs it.
    """
    _check_batch(batch)
    name = os.fspath(path)
    torch = _torch()
    data = torch.cuda.memory._snapshot()
    if isinstance(data, dict):
        settings = {**(data.get("allocator_settings") or {}), **_surroundings(torch, data, batch)}
        data = {**data, "allocator_settings": settings}
    written_by("a memory snapshot", name, lambda: _write(name, data))
    return name


def _surroundings(torch: Any, data: dict[str, Any], batch: int | None) -> dict[str, int]:
    """What PyTorch's snapshots do not say: how much memory there is, and how often the allocator had to try again."""
    known: dict[str, int] = {} if batch is None else {"stepscope.batch": batch}
    traces = data.get("device_traces") or ()
    # Asking about a device that the program does not use would take memory there.
    devices = {number for number, trace in enumerate(traces) if trace}
    devices |= {segment.get("device", 0) for segment in data.get("segments") or ()}
    for device in sorted(device for device in devices if isinstance(device, int) and device >= 0):
        try:
            free, total = torch.cuda.mem_get_info(device)
            usable = free + torch.cuda.memory_reserved(device)
            fraction = getattr(torch.cuda.memory, "get_per_process_memory_fraction", None)
            if fraction is not None:
                usable = min(usable, int(fraction(device) * total))
            known[f"stepscope.capacity_bytes.{device}"] = int(total)
            known[f"stepscope.usable_bytes.{device}"] = int(usable)
            retries = torch.cuda.memory_stats(device).get("num_alloc_retries")
            if retries:
                known[f"stepscope.num_alloc_retries.{device}"] = int(retries)
        except Exception:
            # A snapshot without these is still a snapshot.
            continue
    return known


def _write(name: str, data: Any) -> None:
    opened: Callable[..., Any] = gzip.open if name.endswith(".gz") else open
    with whole_path(name) as beside, opened(beside, "wb") as file:
        # PyTorch's viewer does not read protocol 5, which newer Pythons write by default.
        pickle.dump(data, file, protocol=_PICKLE_PROTOCOL)


def save_on_oom(path: str | os.PathLike[str] | None) -> None:
    """Saves a snapshot there whenever a request for GPU memory is refused, before the error reaches the program.

    The first three are kept: ``oom.pickle``, ``oom-2.pickle``, ``oom-3.pickle``. ``None`` ends it.
    ``stepscope memory oom.pickle --oom`` says why it was refused and what held the rest.
    """
    global _oom_path, _oom_saved, _observed
    if path is None:
        _oom_path = None
        return
    torch = _torch()
    attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
    if attach is None:
        raise StepscopeError("this PyTorch does not report when GPU memory runs out", "use PyTorch 2.1 or later")
    _oom_path, _oom_saved = os.fspath(path), 0
    # PyTorch never lets go of an observer: one is enough.
    if _observed is not torch:
        attach(_out_of_memory)
        _observed = torch


def _out_of_memory(device: int, asked: int, *_: Any) -> None:
    """Called by PyTorch. Whatever goes wrong here must not replace the error that the program is about to get."""
    global _oom_saved
    path = _oom_path
    if path is None or _oom_saved >= MAX_SNAPSHOTS:
        return
    _oom_saved += 1
    try:
        name = snapshot(path if _oom_saved == 1 else _numbered(path, _oom_saved))
        said = f"stepscope: GPU {device} is out of memory ({asked:,} bytes were asked for)"
        print(f"{said}; see: stepscope memory {name} --oom", file=sys.stderr, flush=True)
    except Exception as error:
        warnings.warn(f"stepscope could not save a memory snapshot: {error}", StepscopeWarning, stacklevel=2)


def _numbered(path: str, number: int) -> str:
    folder, name = os.path.split(path)
    stem, dot, ending = name.partition(".")
    return os.path.join(folder, f"{stem}-{number}{dot}{ending}")
