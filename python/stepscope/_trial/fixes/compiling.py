"""``torch.compile`` of the outermost modules, in place: the program's modules stay the objects that they are."""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable

from .base import CLOSE, Fix, Refused, counted, first_line, shortened
from .outermost import OUTERMOST, Call

#: Characters of the reason for a break in a graph.
_MAX_REASON = 60


class Compile(Fix):
    name = "compile"
    title = "torch.compile"
    numbers = CLOSE
    group = "compile"
    code = "model = torch.compile(model)"

    #: What ``torch.compile`` is given.
    options: dict[str, Any] = {}

    def __init__(self) -> None:
        super().__init__()
        self._known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        #: Models that were compiled, by their names.
        self._compiled: dict[int, str] = {}
        self._calls = 0
        self._graphs = 0
        #: The calls in which something was compiled.
        self._compiling: list[int] = []

    def prepare(self, torch: Any) -> None:
        if not hasattr(torch.nn.Module, "compile"):
            raise Refused("this PyTorch cannot compile a module in place")
        OUTERMOST.add(torch, self._around)

    def observe(self) -> str:
        if not self._compiled:
            raise Refused(self.reason or "no model was called")
        self._count()
        counters = self._counters()
        graphs, breaks = self._graphs, counters["graph_break"]
        if not graphs:
            raise Refused("the compiler compiled nothing")
        names = ", ".join(sorted(set(self._compiled.values())))
        said = f"{counted(graphs, 'graph')} of {names}"
        if breaks:
            reason = str(max(breaks, key=lambda each: breaks[each])).strip().splitlines()[0]
            said += f", {counted(sum(breaks.values()), 'graph break')} ({shortened(reason, _MAX_REASON)})"
        again = len(self._compiling) - len(self._compiled)
        if again > 0:
            said += f", compiled again in {counted(again, 'call')}"
        return f"{said}, the last compiled in call {self._compiling[-1]} of {self._calls}"

    def finish(self, result: Any) -> Any:
        """The result of a compiled call, as the program gets it."""
        return result

    def _around(self, module: Any, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._known.get(id(module)) is not module:
            self._known[id(module)] = module
            self.consider(lambda: self._compile(module))
        if id(module) not in self._compiled:
            return call(*args, **kwargs)
        self._calls += 1
        try:
            result = call(*args, **kwargs)
        except Exception as error:
            # The compiler may fail at any call that has new shapes. An error of the program's own comes again.
            self._give_up(module, error)
            return call(*args, **kwargs)
        self._count()
        return self.finish(result)

    def _compile(self, module: Any) -> None:
        torch = self.torch
        if isinstance(module, torch.jit.ScriptModule):
            raise Refused("the model is TorchScript")
        for each in module.modules():
            if type(each).__name__ == "OptimizedModule" or getattr(each, "_compiled_call_impl", None) is not None:
                raise Refused("the program compiles its model itself")
        forward = getattr(type(module), "forward", None)
        if str(getattr(forward, "__module__", "")).startswith("torch."):
            # The compiler passes over PyTorch's own files, so some versions compile nothing of a bare `Sequential`.
            module._compiled_call_impl = torch.compile(_own_frame(module), **self.options)
        else:
            module.compile(**self.options)
        self._compiled[id(module)] = type(module).__name__

    def _give_up(self, module: Any, error: Exception) -> None:
        del self._compiled[id(module)]
        module._compiled_call_impl = None
        self.reason = f"{type(module).__name__} cannot be compiled: {first_line(error)}"

    def _count(self) -> None:
        graphs = int(self._counters()["stats"]["unique_graphs"])
        if graphs != self._graphs:
            self._graphs = graphs
            self._compiling.append(self._calls)

    def _counters(self) -> Any:
        return sys.modules["torch._dynamo.utils"].counters


def _own_frame(module: Any) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> Any:
        return module._call_impl(*args, **kwargs)

    return forward


class CompileGraphs(Compile):
    name = "compile-graphs"
    title = "compile, CUDA graphs"
    code = """model = torch.compile(model, mode="reduce-overhead")
output = model(batch).clone()  # where a result outlives the next call"""

    options = {"mode": "reduce-overhead"}

    def observe(self) -> str:
        self.needs_cuda()
        said = super().observe()
        trees = sys.modules.get("torch._inductor.cudagraph_trees")
        device = self.torch.cuda.current_device()
        manager = trees.get_manager(device, create_if_none_exists=False) if trees is not None else None
        recorded = sum(len(nodes) for nodes in manager.roots.values()) if manager is not None else 0
        if not recorded:
            raise Refused("no CUDA graph was recorded")
        skips = int(self._counters()["inductor"]["cudagraph_skips"])
        return f"{said}; CUDA graphs recorded" + (f", {counted(skips, 'part')} without" if skips else "")

    def finish(self, result: Any) -> Any:
        # The next call writes over it. While gradients are recorded, the program goes backward before that.
        return result if self.torch.is_grad_enabled() else _cloned(self.torch, result)

    def _compile(self, module: Any) -> None:
        self.needs_cuda()
        super()._compile(module)


def _cloned(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    if type(value) in (list, tuple):
        return type(value)(_cloned(torch, each) for each in value)
    if isinstance(value, dict):
        # Results of libraries are dictionaries with attributes: changed in place, they stay what they are.
        for name in list(value):
            value[name] = _cloned(torch, value[name])
    return value
