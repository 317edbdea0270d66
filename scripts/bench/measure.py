"""Runs one contender once in its own process: wall time, peak memory, what it said."""

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time
import zlib

PATHS = re.compile(r"(?:/[\w.+@-]+)+/")


def clean(text):
    """Words fit for a published table: directories of this machine taken out, one line."""
    return PATHS.sub("", " ".join(text.split()))[:160]


def look_at(path):
    """Reads the trace once in small pieces, which warms the page cache.

    Gives its size as a file, as text, and its number of events (objects with a phase).
    """
    unpack = None
    size = text = events = 0
    mark, kept = b'"ph":', b""
    with open(path, "rb") as file:
        while True:
            chunk = file.read(1 << 16)
            if not chunk:
                break
            if size == 0 and chunk[:2] == b"\x1f\x8b":
                unpack = zlib.decompressobj(wbits=31)
            size += len(chunk)
            while chunk:
                piece, chunk = chunk, b""
                if unpack is not None:
                    piece = unpack.decompress(piece)
                    if unpack.eof:  # the next member of a file in several
                        chunk = unpack.unused_data
                        unpack = zlib.decompressobj(wbits=31)
                text += len(piece)
                piece = kept + piece
                events += piece.count(mark)
                kept = piece[-(len(mark) - 1):]
    return {"file_bytes": size, "text_bytes": text, "events": events}


def ending(file):
    """How many lines a file has, and its last words.

    Never the whole of it: what this process holds, its next child seems to hold as well.
    """
    file.seek(0)
    lines, last = 0, b""
    for chunk in iter(lambda: file.read(1 << 16), b""):
        lines += chunk.count(b"\n")
        last = (last + chunk)[-(1 << 16):]
    return lines, last.decode("utf-8", "replace").strip()


def run_once(command, timeout, memory_limit):
    """One run: wall and cpu seconds, peak bytes, seconds (its own count), number, fails, cut."""

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (memory_limit, memory_limit))

    result = {"wall": None, "cpu": None, "peak": None, "seconds": None, "figure": None, "fails": "", "cut": False}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=limits if memory_limit else None,
            )
        except OSError as error:
            result["fails"] = "cannot be started: %s" % clean(error.strerror or str(error))
            return result

        def stop():
            result["cut"] = True
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

        timer = threading.Timer(timeout, stop)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        result["wall"] = time.perf_counter() - started
        timer.cancel()
        child.returncode = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        result["cpu"] = usage.ru_utime + usage.ru_stime
        result["peak"] = usage.ru_maxrss * (1 if os.uname().sysname == "Darwin" else 1024)
        (lines, told), (_, complaint) = ending(out), ending(err)

    if result["cut"]:
        return result
    if child.returncode != 0:
        last = complaint.split("\n")[-1] if complaint else "no message"
        if "MemoryError" in complaint or child.returncode == -signal.SIGKILL:
            last = "out of memory"
        result["fails"] = clean("%s (status %d)" % (last, child.returncode))
        return result
    try:
        said = json.loads(told.split("\n")[-1])
        result["seconds"], result["figure"] = said["seconds"], said["figure"]
        result["fails"] = clean(said["fails"])
    except (ValueError, KeyError, TypeError):
        result["figure"] = "%d lines of output" % lines
    return result
