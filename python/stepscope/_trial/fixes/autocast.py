"""bfloat16 products, from a model's forward pass to ``backward()``.

What the program computes from the results of its model (its loss) is inside, as it is in the code that keeps the fix.
Without gradients, only the model's call is.
"""

from __future__ import annotations

import sys
from typing import Any

from .backward import BACKWARD
from .base import CLOSE, Fix, Refused, counted
from .outermost import OUTERMOST, Call


class Autocast(Fix):
    name = "autocast"
    title = "bf16 autocast"
    numbers = CLOSE
    code = """with torch.autocast("cuda", dtype=torch.bfloat16):
    output = model(batch)
    loss = criterion(output, target)
loss.backward()"""

    def __init__(self) -> None:
        super().__init__()
        #: The surroundings that are entered now, until the program goes backward.
        self._entered: Any = None
        self._entering = False
        self._passes = 0
        #: The devices of models.
        self._devices: dict[int, str] = {}
        self._products: Any = None
        self._arrays = 0

    def prepare(self, torch: Any) -> None:
        self._watch_autocast(torch)
        self._watch_scalers(torch)
        self._watch_arrays(torch)
        BACKWARD.before(torch, self._leave)
        OUTERMOST.add(torch, self._around)

    def observe(self) -> str:
        self._leave()
        if not self._passes:
            raise Refused(self.reason or "no model was called")
        if self._products != self.torch.bfloat16:
            raise Refused(f"products were computed in {self._products}")
        evidence = f"products ran in bfloat16 in {counted(self._passes, 'forward call')}"
        return evidence + ("; the program needs .float() where it gives results to NumPy" if self._arrays else "")

    def _around(self, module: Any, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if BACKWARD.running:
            return self._make_again(module, call, args, kwargs)
        if self.refusal is None and self._entered is None:
            self.safely(lambda: self._enter(module))
        result = call(*args, **kwargs)
        if not self.torch.is_grad_enabled():
            self._leave()
        return result

    def _enter(self, module: Any) -> None:
        torch = self.torch
        parameter = next((each for each in module.parameters() if each.is_floating_point() and each.dim() > 1), None)
        if parameter is None:
            self.reason = "no model has a matrix to multiply with"
            return
        device = parameter.device.type
        if _is_on(torch, device):
            raise Refused("the program uses autocast itself")
        if parameter.dtype != torch.float32:
            raise Refused(f"the model is in {str(parameter.dtype).replace('torch.', '')} already")
        if device == "cuda" and not torch.cuda.is_bf16_supported():
            raise Refused("the GPU has no bfloat16")
        self._entered = self._surroundings(device)
        self._devices[id(module)] = device
        self._passes += 1
        if self._products is None:
            ones = torch.ones(8, 8, device=parameter.device)
            self._products = torch.mm(ones, ones).dtype

    def _make_again(self, module: Any, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A checkpoint computes again what it computed before, perhaps in another thread, and restores what was on
        before the model was called."""
        device = self._devices.get(id(module))
        if self.refusal is not None or device is None or _is_on(self.torch, device):
            return call(*args, **kwargs)
        surroundings = self._surroundings(device)
        try:
            return call(*args, **kwargs)
        finally:
            surroundings.__exit__(None, None, None)

    def _surroundings(self, device: str) -> Any:
        """What products run in, entered."""
        self._entering = True
        try:
            return self.torch.autocast(device, dtype=self.torch.bfloat16).__enter__()
        finally:
            self._entering = False

    def _leave(self) -> None:
        surroundings, self._entered = self._entered, None
        if surroundings is not None:
            surroundings.__exit__(None, None, None)

    def _watch_autocast(self, torch: Any) -> None:
        """A program that switches it on somewhere has thought about it; where it switches it off, it may."""
        kind = torch.amp.autocast_mode.autocast
        plain = kind.__enter__

        def enter(surroundings: Any) -> Any:
            if not self._entering and self.refusal is None and surroundings._enabled and _by_program():
                self.refuse("the program uses autocast itself")
                self._leave()
            return plain(surroundings)

        kind.__enter__ = enter

    def _watch_scalers(self, torch: Any) -> None:
        kind = torch.cuda.amp.GradScaler
        kind = next(each for each in reversed(kind.__mro__) if each.__name__ == "GradScaler")
        plain = kind.__init__

        def make(scaler: Any, *args: Any, **kwargs: Any) -> None:
            plain(scaler, *args, **kwargs)
            if scaler._enabled:
                self.refuse("the program scales its gradients (GradScaler) for a precision of its own")
                self._leave()

        kind.__init__ = make

    def _watch_arrays(self, torch: Any) -> None:
        """NumPy has no bfloat16: results go there as float32, and the code that keeps the fix has to say so."""
        plain = torch.Tensor.numpy

        def numpy(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if tensor.dtype == torch.bfloat16 and self._passes:
                self._arrays += 1
                tensor = tensor.float()
            return plain(tensor, *args, **kwargs)

        torch.Tensor.numpy = numpy


def _is_on(torch: Any, device: str) -> bool:
    try:
        return bool(torch.is_autocast_enabled(device))
    except TypeError:  # a PyTorch before 2.4
        return bool(torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled())


def _by_program() -> bool:
    """Whether it is not PyTorch that restores what was on, as checkpoints do when they compute again."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if not name.startswith(("torch.amp", "torch.cuda.amp")):
            return not name.startswith("torch.")
        frame = frame.f_back
    return True
