"""``stepscope run`` before a launcher of ranks: each rank records itself, and the launcher, which only waits, is left
alone."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

#: Modules of launchers, each with the function that makes their parser of arguments.
_PARSERS = {
    "torch.distributed.run": "get_args_parser",
    "accelerate.commands.launch": "launch_command_parser",
}
#: Launchers as they are typed, and the modules that they start.
_COMMANDS = {("torchrun",): "torch.distributed.run", ("accelerate", "launch"): "accelerate.commands.launch"}


def recording_ranks(program: list[str], own: list[str]) -> tuple[str, list[str]] | None:
    """The module and the arguments of a launcher whose ranks record themselves, with our ``own`` options; None if this
    program is not a launcher that we know, or starts something that is not Python.

    ``program`` is what follows our options, ``-m`` included.
    """
    if program[:1] == ["-m"]:
        module, arguments = program[1], program[2:]
    else:
        known = [words for words in _COMMANDS if tuple(program[: len(words)]) == words]
        if not known or os.path.exists(program[0]):
            return None
        module, arguments = _COMMANDS[known[0]], program[len(known[0]) :]
    if module not in _PARSERS:
        return None
    try:
        parser: Any = getattr(importlib.import_module(module), _PARSERS[module])()
        parsed = parser.parse_args(arguments)
    except Exception:
        return None  # It says itself what is wrong.
    if getattr(parsed, "no_python", None):
        return None
    script_at = len(arguments) - len(parsed.training_script_args) - 1
    options = arguments[:script_at]
    recorded = [sys.executable, "-m", "stepscope", "run", *own]
    if getattr(parsed, "module", None):
        options = [option for option in options if option not in ("-m", "--module")]
        recorded.append("-m")
    no_python = "--no_python" if module.startswith("accelerate") else "--no-python"
    return module, [*options, no_python, *recorded, *arguments[script_at:]]
