"""Writing traces where that is not possible, and more than once."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from stepscope import StepscopeError, StepscopeWarning, _native
from stepscope.profiler import capture, profile, record_function

pytestmark = pytest.mark.usefixtures("without_torch")


@pytest.fixture
def recorded():
    with profile(monitor=False) as prof:
        with record_function("work"):
            pass
    return prof


def run(program, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, **options
    )


def test_a_missing_directory(recorded, tmp_path):
    with pytest.raises(StepscopeError, match="cannot write the trace") as caught:
        recorded.export_chrome_trace(tmp_path / "absent" / "t.json")
    assert "os.makedirs" in caught.value.hint
    assert not (tmp_path / "absent").exists()


def test_a_directory_as_target(recorded, tmp_path):
    with pytest.raises(StepscopeError, match="cannot write") as caught:
        recorded.export_chrome_trace(tmp_path)
    assert "file name" in caught.value.hint


def test_a_file_where_a_directory_should_be(recorded, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StepscopeError, match="cannot write"):
        recorded.export_chrome_trace(tmp_path / "file" / "t.json")
    with pytest.raises(StepscopeError, match="cannot write the stacks"):
        recorded.export_stacks(tmp_path / "file" / "s.txt")


FAILING = """
    import os, resource, sys, warnings
    warnings.simplefilter("always")
    from stepscope import StepscopeError
    from stepscope.profiler import profile, record_function, tensorboard_trace_handler
    directory = {directory!r}
    {before}
    with profile(monitor=False, on_trace_ready=tensorboard_trace_handler(directory)) as prof:
        for _ in range(500):
            with record_function("work"):
                pass
    print("trained")
    try:
        prof.export_chrome_trace(os.path.join(directory, "direct.json"))
    except StepscopeError as error:
        print("refused:", error.hint)
    print(os.listdir(directory))
"""


def test_no_permission_is_an_error_when_asked_and_a_warning_from_the_handler(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    # Root may write anywhere, so the program steps down.
    before = "from stepscope import StepscopeWarning; os.getuid() or os.setuid(65534)"
    if os.getuid() != 0:
        closed.chmod(0o555)
    for parent in (tmp_path, *tmp_path.parents):
        if os.getuid() == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    result = run(FAILING.format(directory=str(closed), before=before))
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["trained", "refused: choose a directory you may write to", "[]"]
    assert "StepscopeWarning: no trace was written" in result.stderr


def test_a_full_disk_is_an_error_when_asked_and_a_warning_from_the_handler(tmp_path):
    # A file-size limit plays the full disk.
    before = "import sys; sys.dont_write_bytecode = True; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
    result = run(FAILING.format(directory=str(tmp_path), before=before))
    assert result.returncode == 0, result.stderr
    trained, refused, left = result.stdout.splitlines()
    assert trained == "trained" and refused.startswith("refused: ")
    assert left == "[]"
    assert "StepscopeWarning: no trace was written" in result.stderr


def test_a_trace_can_be_written_again_and_elsewhere(recorded, tmp_path, slices):
    for name in ("a.json", "b.json.gz", "a.json"):
        recorded.export_chrome_trace(tmp_path / name)
        assert [event["name"] for event in slices(tmp_path / name)] == ["work"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json.gz"]


def test_questions_are_answered_after_the_file_is_gone(recorded, tmp_path):
    recorded.export_chrome_trace(tmp_path / "t.json")
    (tmp_path / "t.json").unlink()
    assert [event.key for event in recorded.key_averages()] == ["work"]


def test_temporary_files_go_with_the_profiler():
    program = """
        import glob, os, sys, tempfile
        tempfile.tempdir = sys.argv[1]
        from stepscope.profiler import profile, record_function
        with profile(monitor=False) as prof:
            with record_function("work"):
                pass
        assert prof.summary()
        assert glob.glob(os.path.join(sys.argv[1], "stepscope-*"))
        del prof
    """
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        result = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), directory], capture_output=True, text=True, timeout=60
        )
        assert result.returncode == 0, result.stderr
        assert os.listdir(directory) == []


class Overfull:
    """A recording that had no room for the last regions. Filling a real one takes 50 million of them."""

    def __init__(self, *arguments):
        self._recording = _native.Recording(*arguments)
        self.lost_regions = 1_234_567

    def __getattr__(self, name):
        return getattr(self._recording, name)


def test_regions_there_was_no_room_for_are_told_once_and_in_the_file(tmp_path, read_trace, monkeypatch):
    monkeypatch.setattr(capture, "Recording", Overfull)
    with pytest.warns(StepscopeWarning, match="1,234,567 regions are not in the trace") as told:
        with profile(monitor=False) as prof:
            with record_function("work"):
                pass
        prof.export_chrome_trace(tmp_path / "t.json")
    assert len(told) == 1
    assert read_trace(tmp_path / "t.json")["lostRegions"] == 1_234_567


def test_nothing_is_said_of_lost_regions_where_all_were_kept(recorded, tmp_path, read_trace):
    recorded.export_chrome_trace(tmp_path / "t.json")
    assert "lostRegions" not in read_trace(tmp_path / "t.json")
