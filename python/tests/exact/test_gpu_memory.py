"""Recording the GPU allocator's history, with a stand-in for PyTorch, because CI has no GPU.

`scripts/check_gpu_memory.py` does the same on a machine that has one.
"""

from __future__ import annotations

import gzip
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import stepscope.memory
from stepscope import StepscopeError, StepscopeWarning, _gpu_memory


class Allocator:
    """What PyTorch's functions are told, and what they answer."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, dict[str, Any]]] = []
        self.observers: list[Any] = []
        self.data: Any = {"segments": [], "device_traces": [[]]}

    def record(self, enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
        # As PyTorch 2.1 and later do: a bool is the old signature, which knows no max_entries.
        if isinstance(enabled, bool):
            raise TypeError("_record_memory_history_legacy() got an unexpected keyword argument 'max_entries'")
        assert not args and set(kwargs) <= {"context", "stacks", "max_entries", "device"}
        self.calls.append((enabled, kwargs))

    def snapshot(self) -> Any:
        return self.data


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Allocator:
    made = Allocator()
    torch: Any = types.ModuleType("torch")
    torch.__version__ = "2.11.0"
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: True,
        memory=types.SimpleNamespace(_record_memory_history=made.record, _snapshot=made.snapshot),
    )
    torch._C = types.SimpleNamespace(_cuda_attach_out_of_memory_observer=made.observers.append)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(_gpu_memory, "_observed", None)
    monkeypatch.setattr(_gpu_memory, "_oom_path", None)
    return made


def test_a_with_block_records_saves_and_stops(allocator: Allocator, tmp_path: Path) -> None:
    path = tmp_path / "memory.pickle"
    with stepscope.memory.record(5000, path=path) as recording:
        assert recording.active
    assert not recording.active
    assert allocator.calls == [("all", {"stacks": "python", "max_entries": 5000}), (None, {})]
    assert pickle.loads(path.read_bytes()) == {**allocator.data, "allocator_settings": {}}
    # Protocol 5 is what PyTorch's own viewer refuses.
    assert path.read_bytes()[:2] == b"\x80\x04"


def test_a_program_that_fails_leaves_its_snapshot(allocator: Allocator, tmp_path: Path) -> None:
    path = tmp_path / "memory.pickle.gz"
    with pytest.raises(ZeroDivisionError), stepscope.memory.record(path=path):
        raise ZeroDivisionError
    assert pickle.loads(gzip.decompress(path.read_bytes())) == {**allocator.data, "allocator_settings": {}}
    assert allocator.calls[-1] == (None, {})


def test_what_pytorch_does_not_say_is_added(allocator: Allocator, tmp_path: Path) -> None:
    path = tmp_path / "memory.pickle"
    cuda: Any = sys.modules["torch"].cuda
    asked: list[int] = []

    def mem_get_info(device: int) -> tuple[int, int]:
        asked.append(device)
        return 60 << 30, 80 << 30

    cuda.mem_get_info = mem_get_info
    cuda.memory_reserved = lambda device: 15 << 30
    cuda.memory_stats = lambda device: {"num_alloc_retries": 3}
    allocator.data = {
        "segments": [{"device": 1}],
        "device_traces": [[], [{}], []],
        "allocator_settings": {"max_split_size": -1},
    }
    with stepscope.memory.record(path=path, batch=32):
        pass
    settings = pickle.loads(path.read_bytes())["allocator_settings"]
    # 5 GiB of the 80 are the context's or someone else's.
    assert settings == {
        "max_split_size": -1,
        "stepscope.batch": 32,
        "stepscope.capacity_bytes.1": 80 << 30,
        "stepscope.usable_bytes.1": 75 << 30,
        "stepscope.num_alloc_retries.1": 3,
    }
    assert asked == [1], "a device that the program does not use is not asked"
    assert allocator.data["allocator_settings"] == {"max_split_size": -1}
    cuda.memory.get_per_process_memory_fraction = lambda device: 0.25
    stepscope.memory.snapshot(path)
    settings = pickle.loads(path.read_bytes())["allocator_settings"]
    assert settings["stepscope.usable_bytes.1"] == 20 << 30 and "stepscope.batch" not in settings
    for wrong in (0, -4, True, 1.5, "32"):
        with pytest.raises(StepscopeError, match="batch"):
            stepscope.memory.record(batch=wrong)  # type: ignore[arg-type]


def test_start_and_stop_and_the_old_signature(allocator: Allocator) -> None:
    recording = stepscope.memory.record(enabled=True, max_entries=100_000)
    recording.stop()
    recording.stop()
    recording.start()
    stepscope.memory.record(enabled=False)
    on = ("all", {"stacks": "python", "max_entries": 100_000})
    assert allocator.calls == [on, (None, {}), on, (None, {})]


def test_options_reach_pytorch_and_wrong_ones_do_not(allocator: Allocator) -> None:
    stepscope.memory.record(7, stacks="all", device=1).stop()
    assert allocator.calls[0] == ("all", {"stacks": "all", "max_entries": 7, "device": 1})
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(StepscopeError, match="max_entries"):
            stepscope.memory.record(wrong)  # type: ignore[arg-type]
    with pytest.raises(StepscopeError, match="stacks"):
        stepscope.memory.record(stacks="c++")
    assert len(allocator.calls) == 2


def test_running_out_of_memory_saves_a_snapshot(
    allocator: Allocator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "oom.pickle"
    stepscope.memory.record(oom_path=path)
    stepscope.memory.save_on_oom(path)
    assert len(allocator.observers) == 1, "PyTorch never lets go of an observer"
    observer = allocator.observers[0]
    for _ in range(5):
        observer(0, 1 << 30, 1 << 30, 0)
    saved = sorted(file.name for file in tmp_path.iterdir())
    assert saved == ["oom-2.pickle", "oom-3.pickle", "oom.pickle"]
    assert f"stepscope memory {path} --oom" in capsys.readouterr().err
    stepscope.memory.save_on_oom(None)
    path.unlink()
    observer(0, 1, 1, 0)
    assert not path.exists()


def test_what_goes_wrong_while_saving_does_not_reach_the_program(allocator: Allocator, tmp_path: Path) -> None:
    stepscope.memory.save_on_oom(tmp_path / "no such folder" / "oom.pickle")
    with pytest.warns(StepscopeWarning, match="could not save"):
        allocator.observers[0](0, 1, 1, 0)


def test_errors_say_what_to_do(allocator: Allocator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(StepscopeError, match="directory does not exist"):
        stepscope.memory.snapshot(tmp_path / "nowhere" / "memory.pickle")
    torch: Any = sys.modules["torch"]
    torch.cuda.is_available = lambda: False
    with pytest.raises(StepscopeError, match="no GPU"):
        stepscope.memory.record()
    del torch.cuda.memory._record_memory_history
    with pytest.raises(StepscopeError, match=r"this PyTorch \(2.11.0\)"):
        stepscope.memory.record()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(StepscopeError, match="needs PyTorch"):
        stepscope.memory.snapshot(tmp_path / "memory.pickle")
