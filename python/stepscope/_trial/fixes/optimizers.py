"""The fused kernels of PyTorch's optimizers, asked for at the first step.

Not when the optimizer is made: a model may move to the GPU after that, and only the parameters of the first step show
whether a fused kernel takes them.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from collections import Counter
from typing import Any, Callable

from .base import CLOSE, Fix, Refused, counted, first_line

_KERNELS = ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_")


class FusedOptimizer(Fix):
    name = "fused-optimizer"
    title = "fused optimizer"
    numbers = CLOSE
    code = "optimizer = torch.optim.AdamW(model.parameters(), ..., fused=True)"

    def __init__(self) -> None:
        super().__init__()
        self._known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._fused: list[weakref.ref[Any]] = []
        self._kernels: Counter[str] = Counter()
        self._trying = False

    def prepare(self, torch: Any) -> None:
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_pre_hook", None)
        if register is None:
            raise Refused("this PyTorch is older than 2.0")
        register(self._steps)
        for name in _KERNELS:
            self._count_first(torch, name)

    def observe(self) -> str:
        living = [optimizer for optimizer in (each() for each in self._fused) if optimizer is not None]
        fused = [each for each in living if all(group.get("fused") for group in each.param_groups)]
        if not fused:
            raise Refused(self.reason or "the program made no step of an optimizer of PyTorch")
        if not self._kernels:
            raise Refused("no fused kernel ran")
        kinds = ", ".join(sorted({type(each).__name__ for each in fused}))
        return f"fused=True in {counted(len(fused), 'optimizer')} ({kinds}), and its kernel ran"

    def _count_first(self, torch: Any, name: str) -> None:
        """Notice that a kernel runs, and get out of its way."""
        kernel = getattr(torch, name, None)
        if kernel is None:
            return

        def first(*args: Any, **kwargs: Any) -> Any:
            if not self._trying:
                self._kernels[name] += 1
                if getattr(torch, name) is first:
                    setattr(torch, name, kernel)
            return kernel(*args, **kwargs)

        setattr(torch, name, first)

    def _steps(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if self._known.get(id(optimizer)) is not optimizer and not self.elsewhere:
            self._known[id(optimizer)] = optimizer
            self.consider(lambda: self._fuse(optimizer))

    def _fuse(self, optimizer: Any) -> None:
        kind = type(optimizer)
        if not kind.__module__.startswith("torch.optim"):
            raise Refused(f"{kind.__name__} is not an optimizer of PyTorch")
        if "fused" not in inspect.signature(kind.__init__).parameters:
            raise Refused(f"{kind.__name__} has no fused kernel")
        # A state that is loaded brings its own settings along: those of an optimizer that was fused here are ours.
        loaded = not self._fused and any(group.get("fused") is not None for group in optimizer.param_groups)
        if optimizer.defaults.get("fused") is not None or loaded:
            raise Refused("the program sets fused itself")
        if any(group.get("differentiable") for group in optimizer.param_groups):
            raise Refused("the optimizer is differentiable")
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        plain = (self.torch.Tensor, self.torch.nn.Parameter)
        if not all(type(each) in plain and each.is_floating_point() for each in parameters):
            raise Refused("not all parameters are plain tensors of floating point")
        if any(each.grad is not None and each.grad.is_sparse for each in parameters):
            raise Refused("some gradients are sparse")
        for device, dtype in {(each.device, each.dtype) for each in parameters}:
            self._try(kind, optimizer.defaults, device, dtype)
        for group in optimizer.param_groups:
            group["fused"], group["foreach"] = True, None
        optimizer.defaults["fused"], optimizer.defaults["foreach"] = True, None
        optimizer._step_supports_amp_scaling = True
        for parameter in parameters:
            # Fused kernels count their steps on the device, in single precision.
            state = optimizer.state.get(parameter, {})
            if isinstance(state.get("step"), self.torch.Tensor):
                state["step"] = state["step"].to(device=parameter.device, dtype=self.torch.float32)
        self._fused.append(weakref.ref(optimizer))

    def _try(self, kind: Any, defaults: dict[str, Any], device: Any, dtype: Any) -> None:
        """Make one fused step elsewhere: which devices and types have a kernel differs from version to version."""
        torch = self.torch
        known = inspect.signature(kind.__init__).parameters
        options = {name: value for name, value in defaults.items() if name in known and name != "foreach"}
        parameter = torch.nn.Parameter(torch.zeros(1, device=device, dtype=dtype))
        parameter.grad = torch.zeros_like(parameter)
        # The step without its hooks: it is not a step of the program, and whoever counts those must not see it.
        step: Callable[[Any], Any] = getattr(kind.step, "__wrapped__", kind.step)
        self._trying = True
        try:
            step(kind([parameter], **{**options, "fused": True}))
        except Exception as error:
            raise Refused(f"{kind.__name__} has no fused kernel for {device.type} here: {first_line(error)}")
        finally:
            self._trying = False
