"""Images and the weights of convolutions with their channels last, from a model's first call on."""

from __future__ import annotations

import weakref
from typing import Any

from .base import CLOSE, Fix, Refused, counted, first_line
from .outermost import OUTERMOST, Call


class ChannelsLast(Fix):
    name = "channels-last"
    title = "channels last"
    numbers = CLOSE
    code = """model = model.to(memory_format=torch.channels_last)
batch = batch.to(memory_format=torch.channels_last)"""

    def __init__(self) -> None:
        super().__init__()
        self._known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        #: Models that were changed, and whether their first call has succeeded.
        self._changed: dict[int, bool] = {}
        self._inputs = 0

    def prepare(self, torch: Any) -> None:
        OUTERMOST.add(torch, self._around)

    def observe(self) -> str:
        last = self.torch.channels_last
        models = [self._known[each] for each in self._changed if each in self._known]
        weights = [weight for model in models for weight in self._weights(model)]
        if not weights:
            raise Refused(self.reason or "no model with two-dimensional convolutions was called")
        if not all(weight.is_contiguous(memory_format=last) for weight in weights):
            raise Refused("the weights of convolutions are no longer channels last")
        if not self._inputs:
            raise Refused("no image was given to the model")
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        if not all(each.is_contiguous(memory_format=last) for each in gradients):
            raise Refused("gradients of convolutions are not channels last: PyTorch computed them otherwise")
        both = " and their gradients" if gradients else ""
        return f"{counted(len(weights), 'weight')} of convolutions{both} are channels last"

    def _around(self, module: Any, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._known.get(id(module)) is not module:
            self._known[id(module)] = module
            self.consider(lambda: self._change(module))
        if id(module) not in self._changed:
            return call(*args, **kwargs)
        images = tuple(self._last(each) for each in args)
        named = {name: self._last(each) for name, each in kwargs.items()}
        if self._changed[id(module)]:
            return call(*images, **named)
        try:
            result = call(*images, **named)
        except Exception as error:
            # `view` needs the usual order, and many models have one before their last layer.
            self._change_back(module, error)
            return call(*args, **kwargs)
        self._changed[id(module)] = True
        return result

    def _change(self, module: Any) -> None:
        kinds = {kind.__name__ for kind in type(module).__mro__}
        if kinds & {"DistributedDataParallel", "FullyShardedDataParallel"}:
            raise Refused("the model is distributed already when it is first called, and its buckets keep their order")
        weights = self._weights(module)
        if not weights:
            raise Refused(f"{type(module).__name__} has no two-dimensional convolutions")
        if all(weight.is_contiguous(memory_format=self.torch.channels_last) for weight in weights):
            raise Refused("the program has its convolutions channels last already")
        module.to(memory_format=self.torch.channels_last)
        self._changed[id(module)] = False

    def _change_back(self, module: Any, error: Exception) -> None:
        del self._changed[id(module)]
        module.to(memory_format=self.torch.contiguous_format)
        self.reason = f"{type(module).__name__} cannot work channels last: {first_line(error)}"

    def _weights(self, module: Any) -> list[Any]:
        """Weights whose order matters: a kernel of one pixel, or a single channel, is in both orders at once."""
        kind = self.torch.nn.modules.conv._ConvNd
        weights = (each.weight for each in module.modules() if isinstance(each, kind))
        return [each for each in weights if each.dim() == 4 and each.shape[1] > 1 and each.shape[2] * each.shape[3] > 1]

    def _last(self, value: Any) -> Any:
        if isinstance(value, self.torch.Tensor) and value.dim() == 4 and value.is_floating_point():
            self._inputs += 1
            return value.contiguous(memory_format=self.torch.channels_last)
        # Containers of other kinds are their owners' business.
        if type(value) is dict:
            return {name: self._last(each) for name, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._last(each) for each in value)
        return value
