"""Which kernels compute ``scaled_dot_product_attention``: cuDNN's if they can, or others in any case.

cuDNN is known to be faster on Hopper, and to build a plan for each new length of a sequence; which of them counts is
what gets measured.
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
        self._first_order = self._order()
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
        """Ask PyTorch what it chooses for the first call, without the change and with it, and get out of the way."""
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
        if self._order() != self._first_order:
            raise Refused("the program sets the order of attention backends itself")
        if torch.is_autocast_enabled("cuda"):
            # Asked directly, PyTorch does not cast what it casts when it computes.
            dtype = torch.get_autocast_dtype("cuda")
            args = tuple(_cast(torch, each, dtype) for each in args)
            kwargs = {name: _cast(torch, each, dtype) for name, each in kwargs.items()}
        # When PyTorch first chooses, it puts cuDNN first itself on some GPUs: a change made before then is lost.
        before = int(torch._fused_sdp_choice(*args, **kwargs))
        self._change()
        self._chosen = before, int(torch._fused_sdp_choice(*args, **kwargs))

    def _order(self) -> list[int]:
        return [int(each) for each in self.torch._C._get_sdp_priority_order()]

    def _change(self) -> None:
        self.torch._C._set_sdp_priority_order([_CUDNN, *(each for each in self._order() if each != _CUDNN)])


class FlashAttention(AttentionBackend):
    name = "flash-attention"
    title = "attention without cuDNN"
    code = "torch.backends.cuda.enable_cudnn_sdp(False)"

    def _change(self) -> None:
        self.torch.backends.cuda.enable_cudnn_sdp(False)


def _cast(torch: Any, value: Any, dtype: Any) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
