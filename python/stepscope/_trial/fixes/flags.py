"""Switches of PyTorch's backends. A program that sets one itself keeps its own choice, and the fix says so."""

from __future__ import annotations

import gc
from typing import Any

from .base import CLOSE, Fix, Refused, counted


class Tf32(Fix):
    name = "tf32"
    title = "TF32 products"
    numbers = CLOSE
    code = 'torch.set_float32_matmul_precision("high")'

    def __init__(self) -> None:
        super().__init__()
        self._ours = False

    def prepare(self, torch: Any) -> None:
        self._matmul = torch.backends.cuda.matmul
        if self._matmul.allow_tf32:
            raise Refused("TF32 is allowed already, by the environment")
        self._watch(torch)
        self._ours = True
        # The old name of the switch: it sets what the new one reads, while the reverse is an error in some versions.
        self._matmul.allow_tf32 = True
        self._ours = False

    def observe(self) -> str:
        torch = self.torch
        self.needs_cuda()
        if torch.version.hip is not None:
            raise Refused("ROCm decides about TF32 by other means")
        if torch.cuda.get_device_capability() < (8, 0):
            raise Refused("the GPU has no TF32")
        if not self._matmul.allow_tf32:
            raise Refused("the program does not allow TF32 at its end")
        if not _rounds_as_tf32(torch):
            raise Refused("a product of float32 matrices is not rounded as TF32 rounds it")
        return "allow_tf32 is on at the end, and products of float32 matrices are rounded as TF32 rounds them"

    def _watch(self, torch: Any) -> None:
        """Notice that the program sets it."""
        kind: Any = type(self._matmul)
        plain_set, plain_function = kind.__setattr__, torch.set_float32_matmul_precision

        def set_attribute(module: Any, name: str, value: Any) -> None:
            plain_set(module, name, value)
            if name in ("allow_tf32", "fp32_precision") and not self._ours:
                self.refuse(f"the program sets {name} = {value!r} itself")

        def set_precision(precision: str) -> None:
            plain_function(precision)
            self.refuse(f"the program sets the precision of its products itself ({precision!r})")

        kind.__setattr__ = set_attribute
        torch.set_float32_matmul_precision = set_precision


def _rounds_as_tf32(torch: Any) -> bool:
    """TF32 keeps 10 bits of the 23 after the point: 1 + 2^-12 becomes 1."""
    with torch.no_grad():
        left = torch.full((512, 512), 1 + 2**-12, dtype=torch.float32, device="cuda")
        right = torch.eye(512, dtype=torch.float32, device="cuda")
        return float(torch.mm(left, right)[0, 0]) == 1.0


class CudnnBenchmark(Fix):
    name = "cudnn-benchmark"
    title = "cuDNN benchmark"
    numbers = CLOSE
    code = "torch.backends.cudnn.benchmark = True"

    def __init__(self) -> None:
        super().__init__()
        self._ours = False

    def prepare(self, torch: Any) -> None:
        kind = type(torch.backends.cudnn)
        plain = kind.__dict__["benchmark"]
        fix = self

        class Benchmark:
            """The switch as it is, which notices that the program sets it."""

            def __get__(self, module: Any, kind: Any = None) -> Any:
                return plain.__get__(module, kind)

            def __set__(self, module: Any, value: Any) -> None:
                plain.__set__(module, value)
                if not fix._ours:
                    fix.refuse(f"the program sets cudnn.benchmark = {value!r} itself")

        kind.benchmark = Benchmark()
        self._ours = True
        torch.backends.cudnn.benchmark = True
        self._ours = False

    def observe(self) -> str:
        self.needs_cuda()
        if not self.torch.backends.cudnn.benchmark:
            raise Refused("cudnn.benchmark is off at the end")
        count = sum(each.weight.is_cuda for each in living_convolutions(self.torch))
        if not count:
            raise Refused("the program has no convolutions on the GPU (none that is a module)")
        return f"cudnn.benchmark is on at the end, for {counted(count, 'convolution')} on the GPU"


def living_convolutions(torch: Any) -> list[Any]:
    """All modules that convolve; ``isinstance`` would ask strange objects what they are."""
    kind = torch.nn.modules.conv._ConvNd
    return [each for each in gc.get_objects() if issubclass(type(each), kind)]
