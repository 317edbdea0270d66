"""Which kernels compute ``scaled_dot_product_attention``: cuDNN's before FlashAttention 2, or after all others.

A preference, not an order: where they cannot do it, PyTorch chooses as before. cuDNN is known to be faster on Hopper,
and to build a plan for each new length of a sequence; which of them counts is what gets measured.
"""

from __future__ import annotations

from typing import Any

from .base import CLOSE, Fix, Refused

_NAMES = {0: "math", 1: "flash attention", 2: "memory-efficient attention", 3: "cuDNN", 4: "another backend"}
_CUDNN = 3


class AttentionBackend(Fix):
    name = "attention-backend"
    title = "cuDNN attention"
    numbers = CLOSE
    cudnn_last = False
    code = """from torch.nn.attention import SDPBackend, sdpa_kernel

backends = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
with sdpa_kernel(backends, set_priority=True):
    output = model(batch)"""

    def __init__(self) -> None:
        super().__init__()
        self._chosen: tuple[int, int] | None = None

    def prepare(self, torch: Any) -> None:
        if not hasattr(torch._C, "_set_sdp_priority_order"):
            raise Refused("this PyTorch has no order of attention backends (2.6 and later have)")
        self._before = [int(each) for each in torch._C._get_sdp_priority_order()]
        others = [each for each in self._before if each != _CUDNN]
        self._after = [*others, _CUDNN] if self.cudnn_last else [_CUDNN, *others]
        torch._C._set_sdp_priority_order(self._after)
        self._watch_first(torch)

    def observe(self) -> str:
        self.needs_cuda()
        if self._chosen is None:
            raise Refused("no call of scaled_dot_product_attention on the GPU was seen outside compiled code")
        before, after = self._chosen
        if before == after:
            raise Refused(f"PyTorch chooses {_NAMES.get(after, after)} either way")
        return f"PyTorch chooses {_NAMES.get(after, after)}, and {_NAMES.get(before, before)} without it"

    def _watch_first(self, torch: Any) -> None:
        """Ask PyTorch what it chooses for the first call, with both orders, and get out of the way."""
        functional = torch.nn.functional
        attention = functional.scaled_dot_product_attention
        is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)

        def first(*args: Any, **kwargs: Any) -> Any:
            if not is_compiling() and (args[0] if args else kwargs["query"]).is_cuda:
                functional.scaled_dot_product_attention = attention
                self.safely(lambda: self._ask(args, kwargs))
            return attention(*args, **kwargs)

        functional.scaled_dot_product_attention = first

    def _ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        torch = self.torch
        now = [int(each) for each in torch._C._get_sdp_priority_order()]
        if now != self._after:
            raise Refused("the program sets the order of attention backends itself")
        if torch.is_autocast_enabled("cuda"):
            # Asked directly, PyTorch does not cast what it casts when it computes.
            dtype = torch.get_autocast_dtype("cuda")
            args = tuple(_cast(torch, each, dtype) for each in args)
            kwargs = {name: _cast(torch, each, dtype) for name, each in kwargs.items()}
        after = int(torch._fused_sdp_choice(*args, **kwargs))
        torch._C._set_sdp_priority_order(self._before)
        try:
            before = int(torch._fused_sdp_choice(*args, **kwargs))
        finally:
            torch._C._set_sdp_priority_order(self._after)
        self._chosen = before, after


class FlashAttention(AttentionBackend):
    name = "flash-attention"
    title = "attention without cuDNN"
    cudnn_last = True
    code = "torch.backends.cuda.enable_cudnn_sdp(False)"


def _cast(torch: Any, value: Any, dtype: Any) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
