"""Inference mode for a program that calls its model with gradients recorded and never goes backward.

That it never does is known only after a while, so the first calls stay as they are. From then on the program is in
inference mode for good, as if its loop had been decorated: what it computes from results is inside as well.
"""

from __future__ import annotations

import gc
from typing import Any

from .backward import BACKWARD
from .base import SAME, Fix, Refused, counted
from .outermost import OUTERMOST, Call

#: Calls with gradients recorded after which no ``backward()`` is expected. As many as it takes to find the iterations
#: of such a program.
_CALLS_BEFORE = 33


class InferenceMode(Fix):
    name = "inference-mode"
    title = "inference mode"
    numbers = SAME
    code = """with torch.inference_mode():
    output = model(batch)"""

    #: Calls that stay as they are.
    calls_before = _CALLS_BEFORE

    def __init__(self) -> None:
        super().__init__()
        self._mode: Any = None
        #: Calls with gradients recorded, before and after.
        self._recorded = 0
        self._inside = 0
        self._calls = 0
        self._clean = True

    def prepare(self, torch: Any) -> None:
        BACKWARD.before(torch, self._goes_backward)
        OUTERMOST.add(torch, self._around)

    def observe(self) -> str:
        self._end()
        if not self._calls:
            raise Refused("no model was called")
        if not self._recorded:
            raise Refused("the program does without gradients already")
        if not self._inside:
            raise Refused(f"too few calls: it begins after {self.calls_before} without backward()")
        if not self._clean:
            raise Refused("results still have gradients")
        return f"{counted(self._inside, 'call')} of {self._calls} ran in inference mode"

    def _around(self, module: Any, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._calls += 1
        if self._mode is None and self.refusal is None and self.torch.is_grad_enabled():
            self._recorded += 1
            if self._recorded > self.calls_before:
                self.safely(self._begin)
        result = call(*args, **kwargs)
        if self._mode is not None:
            self._inside += 1
            self._clean = self._clean and not getattr(result, "requires_grad", False)
        return result

    def _goes_backward(self) -> None:
        self.refuse("the program computes gradients")
        self._end()

    def _end(self) -> None:
        mode, self._mode = self._mode, None
        if mode is not None:
            mode.__exit__(None, None, None)

    def _begin(self) -> None:
        torch = self.torch
        optimizer = torch.optim.Optimizer
        if any(issubclass(type(each), optimizer) for each in gc.get_objects()):
            raise Refused("the program has an optimizer: it may yet train")
        mode = torch.inference_mode()
        mode.__enter__()
        self._mode = mode
