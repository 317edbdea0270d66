"""The fixes that ``stepscope try`` can put into a program of PyTorch, by name."""

from __future__ import annotations

from .allocator import ExpandableSegments
from .attention import AttentionBackend, FlashAttention
from .autocast import Autocast
from .base import CLOSE, SAME, Effect, Fix
from .channels_last import ChannelsLast
from .compiling import Compile, CompileGraphs
from .copies import AsyncCopies
from .distributed import DdpViews
from .flags import CudnnBenchmark, Tf32
from .inference import InferenceMode
from .loaders import LoaderWorkers, PinnedLoader
from .optimizers import FusedOptimizer
from .quiet_calls import KeepCache, NoSynchronize

_ALL: tuple[type[Fix], ...] = (
    LoaderWorkers,
    PinnedLoader,
    FusedOptimizer,
    Tf32,
    CudnnBenchmark,
    Autocast,
    ChannelsLast,
    Compile,
    CompileGraphs,
    AttentionBackend,
    FlashAttention,
    KeepCache,
    NoSynchronize,
    AsyncCopies,
    ExpandableSegments,
    DdpViews,
    InferenceMode,
)

#: All of them, in the order in which tables list them.
FIXES: dict[str, type[Fix]] = {fix.name: fix for fix in _ALL}

__all__ = ["CLOSE", "FIXES", "SAME", "Effect", "Fix"]
