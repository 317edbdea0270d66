"""Copies of pinned batches to the GPU, for which the program does not wait.

Only what a loader has pinned: no one writes to it after the copy was asked for, and the memory of a batch that is
dropped is not used again before its copy has ended. A buffer that the program pinned itself it may write to at once.
"""

from __future__ import annotations

import weakref
from typing import Any

from .base import SAME, Fix, Refused, counted
from .loaders import when_pinned


class AsyncCopies(Fix):
    name = "async-copies"
    title = "asynchronous copies"
    numbers = SAME
    code = "batch = batch.to(device, non_blocking=True)  # from a DataLoader with pin_memory=True"

    def __init__(self) -> None:
        super().__init__()
        #: The memory that loaders have pinned, as long as a tensor of theirs is alive.
        self._pinned: dict[int, weakref.ref[Any]] = {}
        self._was_pinned = self._own_is_pinned = False
        self._already = 0
        self._copies = 0

    def prepare(self, torch: Any) -> None:
        self.when_imported("torch.utils.data.dataloader", lambda module: when_pinned(module, self.pinned))
        for name in ("to", "cuda"):
            self._wrap(torch.Tensor, name)

    def observe(self) -> str:
        self.needs_cuda()
        if not self._was_pinned:
            itself = "; what the program pins itself, it may write to at once" if self._own_is_pinned else ""
            raise Refused(f"no batch of a loader comes from pinned memory (pinned-loader changes that){itself}")
        if not self._copies:
            already = "the program copies its batches without waiting already"
            raise Refused(already if self._already else "no batch was copied to the GPU")
        return f"{counted(self._copies, 'copy', 'copies')} of pinned batches did not wait"

    def pinned(self, tensor: Any) -> None:
        """Remember that a loader has pinned a tensor."""
        self._was_pinned = True
        place = tensor.untyped_storage().data_ptr()
        known = self._pinned

        def dropped(reference: weakref.ref[Any]) -> None:
            if known.get(place) is reference:
                del known[place]

        known[place] = weakref.ref(tensor, dropped)

    def _wrap(self, kind: Any, name: str) -> None:
        plain = getattr(kind, name)

        def copy(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._pinned or not tensor.is_cpu or tensor.untyped_storage().data_ptr() not in self._pinned:
                result = plain(tensor, *args, **kwargs)
                self._own_is_pinned = self._own_is_pinned or (result.is_cuda and tensor.is_cpu and tensor.is_pinned())
                return result
            if "non_blocking" in kwargs or any(isinstance(each, bool) for each in args):
                self._already += 1
                return plain(tensor, *args, **kwargs)
            # To another type on the host, the flag means nothing.
            result = plain(tensor, *args, **kwargs, non_blocking=True)
            self._copies += result.is_cuda
            return result

        setattr(kind, name, copy)
