"""``stepscope.memory.track``: every allocation to its line, the peak to who held it, by counts worked out by hand."""

from __future__ import annotations

import gc
import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent

import pytest

import stepscope
from stepscope.memory import track

MB = 1_000_000
HERE = Path(__file__).name


def keep(size: int) -> bytearray:
    return bytearray(size)  # kept


def line_of(mark: str) -> int:
    """The line of this file that ends with a remark."""
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def rows_of(table, mark: str):
    """The row of a line. Before Python 3.12 a comprehension is a function of its own: the larger one counts."""
    found = [row for row in table if row["file"].endswith(HERE) and row["line"] == line_of(mark)]
    return sorted(found, key=lambda row: -row["allocated_bytes"])[:1]


def test_the_peak_and_what_is_left_belong_to_their_lines():
    with track() as memory:
        kept = [keep(3 * MB) for _ in range(4)]
        freed = bytearray(20 * MB)  # freed
        del freed
        later = bytearray(5 * MB)  # later
    assert 32 * MB <= memory.peak < 32.2 * MB
    assert 17 * MB <= memory.live < 17.2 * MB
    [row] = rows_of(memory.by_line(), "kept")
    # Python says what an object takes; a bytearray and what is in it are two allocations.
    size = 4 * sys.getsizeof(kept[0])
    assert (row["peak_bytes"], row["live_bytes"]) == (size, size)
    assert (row["allocations"], row["live_count"], row["function"]) == (8, 8, "keep")
    [row] = rows_of(memory.by_line(), "freed")
    # The number of bytes that is asked for is an object for a moment, too.
    assert 0 <= row["peak_bytes"] - sys.getsizeof(bytearray(20 * MB)) < 100 and row["live_bytes"] == 0
    [row] = rows_of(memory.leaked(), "later")
    assert (row["peak_bytes"], row["live_bytes"]) == (0, sys.getsizeof(later))
    assert not rows_of(memory.leaked(), "freed")
    assert len(kept) == 4 and later


def test_small_objects_count_by_size():
    with track() as memory:
        kept = [object() for _ in range(10_000)]  # small objects
    [row] = rows_of(memory.by_line(), "small objects")
    # 16 bytes each; the list takes 8 for each and as it grows a little more.
    assert 10_000 * (16 + 8) <= row["live_bytes"] <= 10_000 * (16 + 10)
    assert row["live_count"] in (10_000, 10_001, 10_002)
    assert len(kept) == 10_000


def test_stacks_end_in_the_line_that_allocates():
    def outer() -> bytearray:
        return keep(2 * MB)  # called here

    with track() as memory:
        kept = outer()
    row = memory.by_stack()[0]
    assert 0 <= row["peak_bytes"] - sys.getsizeof(kept) < 100
    assert [frame.rpartition(": ")[2].rpartition(".")[2] for frame in row["stack"][:3]] == [
        "keep",
        "outer",
        "test_stacks_end_in_the_line_that_allocates",
    ]
    assert f"({line_of('kept')})" in row["stack"][0] and f"({line_of('called here')})" in row["stack"][1]
    assert kept


def test_memory_that_grows_in_place_is_counted_once():
    with track() as memory:
        grown = bytearray()
        for _ in range(100):
            grown += bytes(10_000)  # grows
    [row] = rows_of(memory.by_line(), "grows")
    assert MB <= row["live_bytes"] <= 1.3 * MB
    assert memory.live < 1.4 * MB and len(grown) == MB


def test_numpy_arrays_belong_to_the_line_that_makes_them():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    with track() as memory:
        ones = numpy.ones(1_000_000)  # ones
        zeros = numpy.zeros((500, 1000), dtype=numpy.float32)  # zeros
        total = (ones + ones).sum()  # temporary
    for mark, size in (("ones", 8 * MB), ("zeros", 2 * MB)):
        [row] = rows_of(memory.leaked(), mark)
        assert size <= row["live_bytes"] < size + 20_000, mark
    [row] = rows_of(memory.by_line(), "temporary")
    assert 8 * MB <= row["peak_bytes"] < 8.1 * MB and row["live_bytes"] < 100_000
    assert 18 * MB <= memory.peak < 18.3 * MB
    assert total == 2e6 and zeros.size


def test_threads_have_their_own_stacks():
    kept = []

    def work(number: int) -> None:
        for _ in range(100):
            bytes(1000)
        kept.append(bytearray(MB + number))  # by a thread

    with track() as memory:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    [row] = rows_of(memory.leaked(), "by a thread")
    sizes = sum(map(sys.getsizeof, kept))
    # The list that they are put in grows there too.
    assert sizes <= row["live_bytes"] <= sizes + sys.getsizeof(kept)
    stack = max(memory.by_stack(), key=lambda row: row["live_bytes"])["stack"]
    assert any("threading.py" in frame for frame in stack) and "work" in stack[0]


def test_deep_recursion_is_cut_and_not_lost():
    def deep(left: int) -> list:
        return [deep(left - 1), bytearray(1000)] if left else []  # deep

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        with track() as memory:
            kept = deep(2000)
    finally:
        sys.setrecursionlimit(limit)
    [row] = rows_of(memory.leaked(), "deep")
    assert 2_002_000 <= row["live_bytes"] <= 2_500_000
    assert kept


def test_generators_and_exceptions_leave_the_stack_as_it_is():
    def numbers():
        for _ in range(3):
            yield bytearray(MB)  # in a generator

    def fails() -> None:
        raise ValueError(bytearray(MB))  # raised

    with track() as memory:
        kept = list(numbers())
        with pytest.raises(ValueError) as error:
            fails()
        after = bytearray(2 * MB)  # after them
    for mark, size in (("in a generator", 3 * MB), ("raised", MB), ("after them", 2 * MB)):
        [row] = rows_of(memory.leaked(), mark)
        assert size <= row["live_bytes"] < size + 5_000, mark
    assert kept and after and error


def test_a_decorator_tracks_each_run():
    memory = track()

    @memory
    def work() -> bytearray:
        return bytearray(4 * MB)

    assert len(work()) == 4 * MB
    assert 4 * MB <= memory.peak < 4.1 * MB
    assert not memory.running


def test_beside_tracemalloc():
    import tracemalloc

    with track() as memory:
        tracemalloc.start()
        kept = bytearray(MB)
        tracemalloc.stop()
    assert MB < memory.live < 1.5 * MB and not memory.displaced
    tracemalloc.start()
    with track() as memory:
        tracemalloc.stop()
        unseen = bytearray(MB)
    assert memory.displaced and memory.live < MB
    with track() as memory:
        seen = bytearray(MB)
    assert MB < memory.live < 1.1 * MB and kept and unseen and seen


def test_it_can_be_asked_meanwhile():
    with track() as memory:
        first = bytearray(2 * MB)
        assert 2 * MB < memory.live < 2.1 * MB
        second = bytearray(3 * MB)
        assert 5 * MB < memory.live < 5.3 * MB
        del first
    assert 3 * MB < memory.live < 3.3 * MB and second


def test_one_at_a_time():
    with track():
        with pytest.raises(stepscope.StepscopeError, match="tracked already"):
            track().start()
    with track() as again:
        kept = bytearray(MB)
    assert again.live > MB and kept


def test_sampled_estimates_are_close():
    with track(sample_bytes=32 * 1024) as memory:
        kept = [bytes(1000) for _ in range(40_000)]  # sampled
    [row] = rows_of(memory.by_line(), "sampled")
    # 41 MB with one sample in 32 KiB: the error has a standard deviation of 3%.
    assert abs(row["live_bytes"] / (40_000 * (sys.getsizeof(bytes(1000)) + 8)) - 1) < 0.15
    del kept
    with track(exact=False) as memory:
        array = bytearray(100 * MB)  # large
    [row] = rows_of(memory.by_line(), "large")
    assert abs(row["peak_bytes"] - sys.getsizeof(array)) < 600_000


def test_a_forked_child_is_left_alone():
    with track() as memory:
        kept = bytearray(2 * MB)
        child = os.fork()
        if child == 0:
            more = [bytearray(MB) for _ in range(10)]
            os._exit(0 if len(more) == 10 else 1)
        assert os.waitpid(child, 0)[1] == 0
        after = bytearray(3 * MB)
    assert 5 * MB <= memory.live < 5.1 * MB and kept and after


def test_a_saved_file_says_the_same(tmp_path):
    with track() as memory:
        kept = bytearray(2 * MB)
    memory.save(tmp_path / "block.mem")
    read = stepscope.open(tmp_path / "block.mem")
    assert read.ask("memory")["peak_bytes"] == memory.peak
    assert list(read.memory()) == list(memory.by_line())
    assert "peak" in read.show("memory") and "FIX" in read.summary() and kept
    assert 0.99 * memory.peak <= sum(row["self_bytes"] for row in read.functions()) <= memory.peak
    with pytest.raises(stepscope.StepscopeError, match="one by one"):
        read.memory(by="event")


def test_lines_say_what_they_added():
    def pages(size: int) -> mmap.mmap:
        """Memory from the system itself: `malloc` may hand out what an earlier test left in its heap."""
        fresh = mmap.mmap(-1, size)
        fresh[::4096] = b"x" * len(range(0, size, 4096))
        return fresh

    def build() -> int:
        large = pages(40 * MB)  # added
        large.close()  # taken
        return 1

    with track(build) as memory:
        build()
    rows = {row[3]: row for row in memory.line_memory()}
    added, taken = rows[line_of("added")], rows[line_of("taken")]
    assert added[4] == taken[4] == 1
    assert 38 * MB < added[6] < 42 * MB and -42 * MB < taken[6] < -38 * MB
    assert memory.trace().ask("memory", lines=True)["line_memory"][0]["function"].endswith("build")


def test_peaks_agree_with_memray(tmp_path):
    memray = pytest.importorskip("memray", reason="memray is not installed")
    program = dedent("""\
        import numpy as np
        def step(x):
            y = x @ x.T
            return (y * 2.0 + 1.0).sum()
        arrays = [np.ones((600, 700)) for _ in range(20)]
        total = sum(step(x) for x in arrays)
        del arrays[5:]
        big = np.zeros(3_000_000)
        big += total
        """)
    script = tmp_path / "program.py"
    script.write_text(program)
    scope = {"__name__": "__main__"}
    code = compile(program, str(script), "exec")
    # The library that multiplies takes memory for good when it first does.
    exec(code, dict(scope))
    gc.collect()
    with track() as memory:
        exec(code, dict(scope))
    with memray.Tracker(tmp_path / "out.bin"):
        exec(code, dict(scope))
    theirs = memray.FileReader(tmp_path / "out.bin").metadata.peak_memory
    assert abs(memory.peak / theirs - 1) < 0.02, (memory.peak, theirs)


def test_increments_agree_with_memory_profiler(tmp_path):
    pytest.importorskip("memory_profiler", reason="memory_profiler is not installed")
    script = tmp_path / "program.py"
    script.write_text(
        dedent("""\
        from memory_profiler import profile
        @profile
        def build():
            a = [1] * (5 * 10 ** 6)
            b = bytearray(b"x") * (20 * 10 ** 6)
            del b
            return a
        build()
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    theirs = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) > 5 and words[0].isdecimal() and words[2] == "MiB":
            theirs[int(words[0])] = float(words[3])
    # In a process of its own too: memory that was freed before may be taken again without growth.
    text = script.read_text().replace("from memory_profiler import profile\n@profile\n", "\n\n")
    # Code of ours that runs for the first time is mapped from its file, by the megabyte on some systems.
    warm = "def warm(): return [1] * 10 ** 5\nwith track(warm): warm()\n"
    text = text.replace(
        "\nbuild()", f"\nfrom stepscope.memory import track\n{warm}with track(build) as memory: build()"
    )
    script.write_text(text + "for row in memory.line_memory(): print(row[3], row[6])\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(stepscope.__file__).parent.parent)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, env=environment)
    ours = {int(line): int(added) / (1 << 20) for line, added in map(str.split, done.stdout.splitlines())}
    for line in (4, 5, 6):
        assert abs(ours[line] - theirs[line]) < 1.0, (ours, theirs)


def test_files_of_memray_are_converted(tmp_path):
    memray = pytest.importorskip("memray", reason="memray is not installed")
    with memray.Tracker(tmp_path / "out.bin"):
        kept = bytearray(7 * MB)  # seen by memray
        freed = bytearray(9 * MB)
        del freed
    path = stepscope.memory.from_memray(tmp_path / "out.bin")
    assert path == str(tmp_path / "out.mem")
    read = stepscope.open(path)
    theirs = memray.FileReader(tmp_path / "out.bin").metadata.peak_memory
    assert read.ask("memory")["peak_bytes"] == theirs > 16 * MB
    [row] = rows_of(read.memory(leaks=True), "seen by memray")
    assert row["live_bytes"] == 7 * MB + 1 and kept


def test_files_of_memray_need_memray(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "memray", None)
    with pytest.raises(stepscope.StepscopeError, match="memray, which is not installed"):
        stepscope.memory.from_memray(tmp_path / "out.bin")


def test_files_of_mprof_open(tmp_path):
    file = tmp_path / "mprofile.dat"
    file.write_text("CMDLINE python x.py\nMEM 10.0 100.0\nMEM 30.5 100.1\nMEM 20.0 100.2\n")
    answer = stepscope.open(file).ask("memory")
    assert answer["peak_bytes"] == answer["peak_rss_bytes"] == int(30.5 * (1 << 20))
    assert [point["rss_bytes"] for point in answer["curve"]] == [int(n * (1 << 20)) for n in (10, 30.5, 20)]
