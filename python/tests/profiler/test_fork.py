"""Forked children: they neither write nor hang, and the parent's trace is its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs os.fork")


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_child_that_leaves_the_block_writes_nothing(tmp_path, slices):
    program = """
        import os, sys, time
        from stepscope.profiler import profile, record_function, tensorboard_trace_handler, schedule
        handler = tensorboard_trace_handler(sys.argv[1], "worker")
        plan = schedule(wait=0, warmup=1, active=2)
        pid = -1
        with profile(samples=100, schedule=plan, on_trace_ready=handler) as prof:
            prof.step()
            with record_function("parent"):
                time.sleep(0.02)
            pid = os.fork()
            if pid == 0:
                with record_function("child"):
                    pass
                for _ in range(10):
                    prof.step()
                sys.exit(7)
            _, status = os.waitpid(pid, 0)
            assert os.WEXITSTATUS(status) == 7, status
            prof.step()
        print("done")
    """
    result = run(program, str(tmp_path))
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
    assert result.stderr == ""
    (path,) = tmp_path.iterdir()
    names = [event["name"] for event in slices(path)]
    assert "parent" in names and "child" not in names


def test_a_child_can_profile_for_itself(tmp_path):
    program = """
        import os, sys
        from stepscope.profiler import profile, record_function
        with profile(monitor=False) as prof:
            pid = os.fork()
            if pid == 0:
                try:
                    with profile(monitor=False) as own:
                        with record_function("own"):
                            pass
                    keys = [event.key for event in own.key_averages()]
                    os._exit(0 if keys == ["own"] else 3)
                except BaseException as error:
                    print(error, file=sys.stderr)
                    os._exit(4)
            _, status = os.waitpid(pid, 0)
        print(os.WEXITSTATUS(status), len(prof.key_averages()))
    """
    result = run(program)
    assert (result.returncode, result.stdout) == (0, "0 0\n"), result.stderr


def test_pools_work_while_a_profiler_runs(tmp_path):
    program = """
        import multiprocessing, sys
        from stepscope.profiler import profile, record_function

        def square(number):
            with record_function("square"):
                return number * number

        with profile(with_stack=True) as prof:
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(square, range(5)))
            with record_function("mine"):
                pass
        print([event.key for event in prof.key_averages()])
    """
    result = run(program)
    assert (result.returncode, result.stdout) == (0, "[0, 1, 4, 9, 16]\n['mine']\n"), result.stderr


def test_a_child_can_record_although_the_log_was_held():
    """A thread of the parent copies the log, again and again, while the process forks."""
    program = """
        import os, signal, threading
        from stepscope import record_function
        from stepscope.profiler import profile
        from stepscope._native import Recording

        # Enough of them for a child or two on a busy machine; each holds its copy no longer than it takes.
        recordings, over = [Recording() for _ in range(400)], threading.Event()
        for recording in recordings:
            recording.start()
        for _ in range(300_000):
            with record_function("work"):
                pass

        def stop():
            while recordings and not over.is_set():
                recordings.pop().stop()

        thread = threading.Thread(target=stop)
        thread.start()
        codes = []
        while thread.is_alive() and len(codes) < 40:
            child = os.fork()
            if child == 0:
                signal.alarm(50)
                with profile(monitor=False) as prof:
                    with record_function("in the child"):
                        pass
                found = {event.key: event.count for event in prof.key_averages()}
                os._exit(7 if found == {"in the child": 1} else 1)
            codes.append(os.waitpid(child, 0)[1])
        over.set()
        thread.join()
        print(len(codes) > 1, {code >> 8 if not code & 127 else -(code & 127) for code in codes})
    """
    result = run(program)
    assert result.stdout == "True {7}\n", result.stdout + result.stderr
