"""The Python in the README runs as it stands there, given the model and the data that a reader would have."""

from __future__ import annotations

import pathlib
import re
import shutil

import pytest

import stepscope

README = pathlib.Path(__file__).resolve().parents[3] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    """Each block under the line it begins in, so that a failure says where to look."""
    text = README.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in BLOCK.finditer(text)]


def test_no_block_is_overlooked():
    text = README.read_text(encoding="utf-8")
    assert len(blocks()) == text.count("```python") >= 4
    assert len(re.findall(BLOCK, text.split("\n## In Python\n")[1].split("\n## ")[0])) >= 3


def readers_things(torch):
    """What the README leaves to the reader: a model, a loader, a training step."""
    if torch is None:
        return {"loader": [list(range(64))] * 8, "model": sum}
    model = torch.nn.Linear(784, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train_step(batch):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

    return {"loader": [torch.randn(16, 784) for _ in range(8)], "model": model, "train_step": train_step}


def needs_torch(code):
    """Whether a block names PyTorch itself."""
    return "torch." in code.replace("torch.profiler as", "")


def ways():
    """Each block with PyTorch, and without it unless it is about PyTorch."""
    for line, code in blocks():
        yield pytest.param(line, code, True, id=f"line {line} with PyTorch", marks=pytest.mark.frameworks)
        if not needs_torch(code):
            yield pytest.param(line, code, False, id=f"line {line} without PyTorch", marks=pytest.mark.either)


@pytest.mark.parametrize(("line", "code", "with_torch"), list(ways()))
@pytest.mark.filterwarnings("ignore")
def test_a_block_runs(line, code, with_torch, tmp_path, monkeypatch, example, capsys, request):
    if with_torch:
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    else:
        torch = None
        request.getfixturevalue("without_frameworks")
    if "to_pandas" in code:
        pytest.importorskip("pandas", reason="pandas is not installed")
    monkeypatch.chdir(tmp_path)
    # Nothing is to be opened on the screen of whoever runs this.
    for program in ("xdg-open", "open", "wslview"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(stepscope.__file__).parents[1]))
    shutil.copy(example, tmp_path / "trace.json.gz")
    before = (tmp_path / "trace.json.gz").stat().st_mtime_ns

    names = {"__name__": "__main__", "torch": torch, **readers_things(torch)}
    exec(compile("\n" * (line - 1) + code, str(README), "exec"), names)

    printed = capsys.readouterr().out
    if "key_averages()" in code:
        assert "forward" in printed and "Self CPU time total" in printed
        (written,) = (tmp_path / "runs/profiler").glob("*.pt.trace.json")
        assert stepscope.open(written).steps().column("step") == [2, 3, 4]
    if "measure.compare()" in code:
        assert all(f"batch {size}" in printed for size in (16, 32, 64))
        assert names["metrics"].throughput > 0
    if "calls.print_stats" in code:
        assert "ncalls" in printed and "(evaluate)" in printed
        assert [line.split()[1] for line in printed.splitlines() if "model(batch)" in line] == ["8"]
    if "export_chrome_trace" in code:
        assert (tmp_path / "trace.json.gz").stat().st_mtime_ns != before
        assert len(stepscope.open(tmp_path / "trace.json.gz").ops()) > 3
