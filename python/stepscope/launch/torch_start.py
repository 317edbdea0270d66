"""When PyTorch's collector may start without changing what the script does.

Starting it asks the driver how many GPUs there are. On a machine with a GPU that must not happen
before the script is ready: ``CUDA_VISIBLE_DEVICES`` set after ``import torch`` would be ignored, and
processes forked later could not use the GPU. So there the collector waits for the script's own first
use of the GPU, of a module or of an optimizer. Elsewhere it starts with the import.
"""

from __future__ import annotations

import glob
import os
import sys
import threading
from typing import Any, Callable, List


def gpu_may_be_here() -> bool:
    """Whether this machine seems to have a GPU, without asking its driver."""
    if sys.platform == "darwin":
        return False
    if sys.platform != "linux":
        return True
    return any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")) or bool(
        glob.glob("/dev/dri/renderD*")
    )


def built_for_gpu(torch: Any) -> bool:
    """Whether this PyTorch can use a GPU at all."""
    version = torch.version
    return any(getattr(version, name, None) for name in ("cuda", "hip", "xpu"))


class FirstUse:
    """Calls ``ready()`` once, in the thread of the script's first use of PyTorch, and never in a child."""

    def __init__(self, ready: Callable[[], None]) -> None:
        self._ready = ready
        self._process = os.getpid()
        self._handles: List[Any] = []
        self._lock = threading.Lock()
        self._done = False

    def watch(self, torch: Any) -> None:
        """Wait for the first use; right now, if there is no GPU to be careful about."""
        if not (built_for_gpu(torch) and gpu_may_be_here()):
            self._fire()
            return
        modules = torch.nn.modules.module
        self._handles.append(modules.register_module_forward_pre_hook(lambda *_: self._fire()))
        optimizers = sys.modules.get("torch.optim.optimizer")
        if hasattr(optimizers, "register_optimizer_step_pre_hook"):
            self._handles.append(optimizers.register_optimizer_step_pre_hook(lambda *_: self._fire()))
        lazy_call = getattr(torch.cuda, "_lazy_call", None)
        if lazy_call is not None:
            lazy_call(self._fire)

    def stop(self) -> None:
        """Wait no longer."""
        self._done = True
        self._remove()

    def _fire(self) -> None:
        with self._lock:
            if self._done or os.getpid() != self._process:
                return
            self._done = True
        self._remove()
        self._ready()

    def _remove(self) -> None:
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()
