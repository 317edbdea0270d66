"""Gradients of ``DistributedDataParallel`` that are views of its buckets, so that they are not copied there."""

from __future__ import annotations

import inspect
import weakref
from typing import Any

from .base import SAME, Fix, Refused, counted


class DdpViews(Fix):
    name = "ddp-views"
    title = "DDP bucket views"
    numbers = SAME
    code = "model = DistributedDataParallel(model, ..., gradient_as_bucket_view=True)"

    def __init__(self) -> None:
        super().__init__()
        self._made: list[weakref.ref[Any]] = []

    def prepare(self, torch: Any) -> None:
        self.when_imported("torch.nn.parallel.distributed", self._wrap)

    def observe(self) -> str:
        models = [model for model in (each() for each in self._made) if model is not None]
        if not models:
            raise Refused(self.reason or "the program has no DistributedDataParallel")
        if not all(model.gradient_as_bucket_view for model in models):
            raise Refused("gradient_as_bucket_view is off at the end")
        gradients = [each.grad for model in models for each in model.parameters() if each.grad is not None]
        buckets = {each.untyped_storage().data_ptr() for each in gradients}
        if len(gradients) > len(models) and len(buckets) == len(gradients):
            raise Refused("each gradient has memory of its own at the end")
        return f"{counted(len(gradients), 'gradient')} in {counted(len(buckets), 'bucket')}, without copies"

    def _wrap(self, module: Any) -> None:
        kind = module.DistributedDataParallel
        plain = kind.__init__
        signature = inspect.signature(plain)

        def make(model: Any, *args: Any, **kwargs: Any) -> None:
            self.consider(lambda: self._ask_for_views(signature, model, args, kwargs))
            plain(model, *args, **kwargs)

        kind.__init__ = make

    def _ask_for_views(
        self, signature: inspect.Signature, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if "gradient_as_bucket_view" in signature.bind_partial(model, *args, **kwargs).arguments:
            raise Refused("the program sets gradient_as_bucket_view itself")
        kwargs["gradient_as_bucket_view"] = True
        self._made.append(weakref.ref(model))
