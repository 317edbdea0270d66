"""``python -m stepscope._trial``: what ``stepscope try`` starts, once for each run."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from .._current_run import set_current_run
from .._launch.late_import import ImportWatch
from .._launch.script import Program
from ..errors import StepscopeError
from .fixes import FIXES
from .fixes.base import Fix
from .measured_run import MeasuredRun, Order

#: What keeps a run that is thrown away out of the places where real ones are kept.
_OFFLINE = {"WANDB_MODE": "disabled", "COMET_MODE": "DISABLED", "NEPTUNE_MODE": "debug"}


def main(words: list[str]) -> int:
    """Describes the fixes, those of these files too, or runs the program of an order."""
    if words[0] == "--list":
        known = [
            {
                "name": fix.name,
                "title": fix.title,
                "numbers": fix.numbers,
                "group": fix.group,
                "code": fix.code,
                "own": fix.name not in FIXES,
            }
            for fix in _known(words[1:]).values()
        ]
        print(json.dumps(known))
        return 0
    (path,) = words
    return _run(Order(**json.loads(Path(path).read_text(encoding="utf-8"))))


def _known(files: list[str]) -> dict[str, type[Fix]]:
    """All fixes by name; the user's own come last."""
    known = dict(FIXES)
    for number, file in enumerate(files):
        spec = importlib.util.spec_from_file_location(f"stepscope_own_fixes_{number}", file)
        if spec is None or spec.loader is None:
            raise StepscopeError(f"this is not a Python file: {file}", hint="give --with a file that ends in .py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Fix) and value.__module__ == module.__name__:
                known[value.name] = value
    return known


def _run(order: Order) -> int:
    for name, value in _OFFLINE.items():
        os.environ.setdefault(name, value)
    known = _known(order.files)
    fixes = [known[name]() for name in order.fixes]
    _seed(order.seed)
    program = Program(order.program, order.arguments, is_module=order.is_module)
    program.take_path()
    run = MeasuredRun(order, fixes)
    run.root, run.launcher = Program._run.__code__, main.__code__
    set_current_run(run)
    # After the fixes: what they compile must not hold our hooks.
    for fix in fixes:
        fix.install()
    run.start()
    ending = program.run()
    run.finish()
    return ending.exit_code


def _seed(seed: int) -> None:
    """The same numbers in every run, unless the program chooses its own: only then can results be compared."""
    random.seed(seed)

    def seed_numpy(numpy: Any) -> None:
        numpy.random.seed(seed)

    def seed_torch(torch: Any) -> None:
        torch.manual_seed(seed)

    ImportWatch("numpy", seed_numpy).start()
    ImportWatch("torch", seed_torch).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
