"""Files of ``line_profiler``: a pickle of one of its objects, which need not be installed to write one."""

from __future__ import annotations

import pickle

from .._writing import whole_file, written_by
from .line_text import FunctionLines

#: ``line_profiler.line_profiler.LineStats.__new__(LineStats)``, in pickle's opcodes.
_OBJECT_OPCODES = b"\x80\x02cline_profiler.line_profiler\nLineStats\n)\x81"
#: Its state is set, and that is all.
_END_OPCODES = b"b."


def write_lprof(functions: list[FunctionLines], path: str) -> None:
    """Write it, whole or not at all."""
    timings = {(one.file, one.first_line, one.name): one.lines for one in functions}
    # Protocol 2 has no frames, so that what it makes can be inside another pickle. It begins with two bytes of its
    # number and ends with a stop.
    state = pickle.dumps({"timings": timings, "unit": 1e-09}, protocol=2)[2:-1]

    def write() -> None:
        with whole_file(path) as file:
            file.write(_OBJECT_OPCODES + state + _END_OPCODES)

    written_by("the lines", path, write)
