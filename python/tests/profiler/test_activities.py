"""What is to be recorded."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stepscope import StepscopeError
from stepscope.profiler import ProfilerActivity, profile, supported_activities
from stepscope.profiler.activities import as_activity, chosen_activities, parse_activities, torch_activities

# What is supported is asked of PyTorch once it is imported.
pytestmark = pytest.mark.either
CPU, CUDA = ProfilerActivity.CPU, ProfilerActivity.CUDA


@pytest.mark.usefixtures("without_frameworks")
def test_without_torch_only_the_host_is_supported():
    assert supported_activities() == {CPU}
    assert chosen_activities(None, None) == {CPU}


def test_activities_are_known_by_name():
    assert as_activity(SimpleNamespace(name="XPU")) is ProfilerActivity.XPU
    with pytest.raises(StepscopeError, match="'TPU'") as caught:
        as_activity("TPU")
    assert "CUDA" in caught.value.hint


def test_use_cuda_adds_and_removes():
    assert chosen_activities(parse_activities([CPU]), True) == {CPU, CUDA}
    assert chosen_activities(parse_activities([CPU, CUDA, CPU]), False) == {CPU}
    with pytest.raises(StepscopeError, match="nothing to profile"):
        profile(activities=[CUDA], use_cuda=False)


@pytest.mark.frameworks
def test_all_of_torchs_activities_have_ours_and_back():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for name, theirs in torch.profiler.ProfilerActivity.__members__.items():
        assert as_activity(theirs).name == name
    found, absent = torch_activities(torch, {CPU, CUDA})
    assert found == [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    assert absent == []
    asked = parse_activities([CPU, {CUDA: ["GPU_MEMCPY"]}])
    assert torch_activities(torch, set(asked), asked)[0] == [
        torch.profiler.ProfilerActivity.CPU,
        {torch.profiler.ProfilerActivity.CUDA: ["GPU_MEMCPY"]},
    ]
    assert {a.name for a in supported_activities()} == {a.name for a in torch.profiler.supported_activities()}
