"""What a program computes: its losses, or the outputs of its model, by which two runs of it can be compared."""

from __future__ import annotations

import contextlib
import math
from typing import Any

#: Losses and outputs that are kept: those of the first iterations, which every run has.
_MAX_LOSSES = 1000
_MAX_OUTPUTS = 10


class Results:
    """Kept on the device until the end, so that nothing waits for them."""

    def __init__(self) -> None:
        self._torch: Any = None
        self._losses: list[Any] = []
        self._outputs: dict[int, Any] = {}
        self._settled = False

    def watch(self, torch: Any) -> None:
        """Keep what ``backward()`` begins with."""
        self._torch = torch
        backward = torch.autograd.backward

        def keep_and_call(tensors: Any, *arguments: Any, **options: Any) -> Any:
            if len(self._losses) < _MAX_LOSSES:
                with contextlib.suppress(Exception):  # no tensor, or one of a kind that cannot be copied
                    loss = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors))
                    if loss.numel() == 1:
                        # A copy: graphs write their next loss to the same place.
                        self._losses.append(loss.detach().clone())
            return backward(tensors, *arguments, **options)

        torch.autograd.backward = keep_and_call

    def output(self, number: int, output: Any) -> None:
        """The model has returned this in its call of this number."""
        if self._settled or number > _MAX_OUTPUTS:
            return
        with contextlib.suppress(Exception):  # an output that holds no numbers
            tensor = _first_tensor(self._torch, output)
            if tensor is not None:
                with self._torch.no_grad():
                    self._outputs[number] = tensor.detach().abs().double().mean()

    def settle(self) -> None:
        """From here on time counts: outputs are no longer looked at."""
        self._settled = True

    def losses(self) -> list[float | None]:
        """Each ``backward()``'s loss, in order; None: not a number, or an endless one."""
        return _values(self._losses)

    def outputs(self) -> dict[int, float | None]:
        """How large the numbers of the first outputs are on average, by the number of the call."""
        return dict(zip(self._outputs, _values(list(self._outputs.values()))))


def _values(tensors: list[Any]) -> list[float | None]:
    values: list[float | None] = []
    with contextlib.suppress(Exception):  # a device that failed meanwhile
        for tensor in tensors:
            value = float(tensor.item())
            values.append(value if math.isfinite(value) else None)
    return values


def _first_tensor(torch: Any, output: Any) -> Any:
    """The first tensor of floating numbers in what a model returns.

    A heuristic: the others (states, masks) follow from the same numbers.
    """
    if isinstance(output, torch.Tensor):
        return output if output.is_floating_point() else None
    if isinstance(output, dict):
        output = output.values()
    if isinstance(output, (list, tuple)) or hasattr(output, "__iter__"):
        for part in output:
            found = _first_tensor(torch, part)
            if found is not None:
                return found
    return None
