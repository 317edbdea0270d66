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
from typing import Any, Callable

#: Where the system shows a GPU, by the attribute of ``torch.version`` that says what PyTorch was built for.
_DEVICES = {
    "cuda": ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg"),
    "hip": ("/dev/kfd", "/dev/dxg"),
    "xpu": ("/dev/dri/renderD*", "/dev/dxg"),
}


def gpu_may_be_used(torch: Any) -> bool:
    """Whether this PyTorch could use a GPU of this machine, found out without asking a driver."""
    built_for = [name for name in _DEVICES if getattr(torch.version, name, None)]
    if sys.platform != "linux":
        return bool(built_for)
    return any(glob.glob(pattern) for name in built_for for pattern in _DEVICES[name])


class FirstUse:
    """Calls ``ready()`` once, in the thread of the script's first use of PyTorch, and never in a child."""

    def __init__(self, ready: Callable[[], None]) -> None:
        self._ready = ready
        self._process = os.getpid()
        self._handles: list[Any] = []
        self._lock = threading.Lock()
        self._done = False

    def watch(self, torch: Any) -> None:
        """Wait for the first use; right now, if there is no GPU to be careful about."""
        if not gpu_may_be_used(torch):
            self._fire()
            return
        modules = torch.nn.modules.module
        self._handles.append(modules.register_module_forward_pre_hook(lambda *_: self._fire()))
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_pre_hook", None)
        if register is not None:
            self._handles.append(register(lambda *_: self._fire()))
        lazy_call = getattr(torch.cuda, "_lazy_call", None)
        if lazy_call is not None:
            lazy_call(self._fire)

    @property
    def waits(self) -> bool:
        """Whether it watches for a first use that has not come."""
        return bool(self._handles) and not self._done

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
