"""``stepscope run``: a script or module as ``python`` would run it, recorded."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ._current_run import set_current_run
from ._launch.arguments import HELP, SECTION, RunArguments, parse
from ._launch.launchers import recording_ranks
from ._launch.script import Ending, Program
from ._native import print_summary
from ._ranks import has_peers
from .errors import StepscopeError

if TYPE_CHECKING:
    from ._launch.exact_run import ExactRun
    from ._launch.script_recorder import ScriptRecorder

#: The exit code for a command line that cannot be understood, as elsewhere in the program.
USAGE_EXIT_CODE = 2


def main(argv: list[str]) -> int:
    """Run ``stepscope run`` with the arguments after ``run``; returns the script's own exit code.

    >>> main(["--help"])  # doctest: +ELLIPSIS
    Run a Python script or module and record where its time goes.
    ...
    0
    """
    try:
        arguments = parse(argv)
        if arguments.help:
            _print(HELP)
            return 0
        launched = recording_ranks(argv[len(argv) - _program_length(arguments) :], argv[: -_program_length(arguments)])
        if launched is not None:
            return _launch(*launched, arguments)
        program = Program(arguments.program, arguments.program_arguments, is_module=arguments.is_module)
        exact = arguments.functions or arguments.calls or arguments.lines is not None or arguments.memory is not None
        if exact and not arguments.trace:
            return _run_exactly(program, arguments)
        recorder = _recorder(arguments)
        if recorder is not None:
            recorder.take_folder()
    except StepscopeError as error:
        print(f"stepscope run: {error}", file=sys.stderr)
        return USAGE_EXIT_CODE
    beside: ExactRun | None = None
    if exact:
        # Its file goes beside the script's name; the output that was named is the trace's.
        beside = _exact_run(replace(arguments, output=None))
        beside.root, beside.launcher = Program._run.__code__, main.__code__
        program.around = beside
    program.take_path()
    if recorder is None:
        ending = program.run()
    else:
        recorder.root, recorder.launcher = Program._run.__code__, main.__code__
        set_current_run(recorder)
        ending = _run_recorded(program, recorder, arguments.quiet)
    if beside is not None:
        beside.report()
    return _end_as(ending)


def _program_length(arguments: RunArguments) -> int:
    """How many of the words are the program: its name, what it is given, and ``-m``."""
    return len(arguments.program_arguments) + (2 if arguments.is_module else 1)


def _launch(module: str, words: list[str], arguments: RunArguments) -> int:
    """Start ranks that record themselves, and say at the end what they recorded; nothing is recorded here."""
    recorder = _recorder(arguments)
    known = set() if recorder is None else recorder.traces_in_folder()
    program = Program(module, words, is_module=True)
    program.take_path()
    ending = program.run()
    if recorder is not None and not arguments.quiet:
        _report_job(sorted(recorder.traces_in_folder() - known), bool(known))
    return _end_as(ending)


def _report_job(traces: list[Path], is_one_of_many: bool) -> None:
    """The first screen about all ranks; ``is_one_of_many``: there are traces of other runs beside theirs."""
    if len(traces) < 2:
        return
    folder = _shown(traces[0].parent)
    print(f"stepscope: {len(traces)} ranks in {folder}  (open: stepscope view {shlex.quote(folder)})", file=sys.stderr)
    print_summary(_shown(traces[0]) if is_one_of_many else folder)


def _run_recorded(program: Program, recorder: ScriptRecorder, quiet: bool) -> Ending:
    """Run it to its end, however that comes, and say what was recorded."""
    from ._launch.early_end import EarlyEnd

    ending = Ending(0)

    def finish() -> None:
        try:
            recorder.finish(ending.ran)
        except KeyboardInterrupt:
            recorder.notes.append("interrupted while the trace was written")
        set_current_run(None)
        _report(recorder.traces, recorder.notes + ([] if quiet else recorder.remarks), quiet)

    # Before the recorder: a forked child gets rid of these hooks first, then takes signals for itself.
    with EarlyEnd(finish, recorder.soon) as early:
        recorder.start()
        ending = program.run()
        early.end()
    return ending


def _run_exactly(program: Program, arguments: RunArguments) -> int:
    """Run it with every call counted or recorded, the lines of functions timed, or memory tracked."""
    run = _exact_run(arguments)
    run.root, run.launcher = Program._run.__code__, main.__code__
    program.take_path()
    program.around = run
    set_current_run(run)
    ending = program.run()
    set_current_run(None)
    run.report()
    return _end_as(ending)


def _exact_run(arguments: RunArguments) -> ExactRun:
    """What the arguments ask for; nothing else is imported."""
    if arguments.memory is not None:
        from ._launch.memory_run import MemoryRun

        return MemoryRun(arguments)
    if arguments.calls:
        from ._launch.calls_run import CallsRun

        return CallsRun(arguments)
    if arguments.functions:
        from ._launch.functions_run import FunctionsRun

        return FunctionsRun(arguments)
    from ._launch.lines_run import LinesRun

    return LinesRun(arguments)


def _recorder(arguments: RunArguments) -> ScriptRecorder | None:
    from .config.overrides import split
    from .config.problems import Problems
    from .config.settings import CHECKS, Settings, check
    from .config.sources import read_document, read_section, trace_folder

    problems = Problems(SECTION)
    document = read_document(arguments.config, SECTION)
    _, values = read_section(document, SECTION, problems)
    overrides = split(arguments.overrides, SECTION, problems).ours
    for name, raw, place in overrides:
        check(name, raw, place, values, problems)
    problems.raise_if_any(list(CHECKS))
    if arguments.output is not None:
        values["output"] = arguments.output
    settings = Settings(**values, given=frozenset(values))
    if not settings.enabled:
        print("stepscope run: profiling is off in the configuration (enabled: false)", file=sys.stderr)
        return None
    try:
        from ._launch.script_recorder import ScriptRecorder
    except ImportError as error:
        print(f"stepscope run: nothing is recorded, because a part of stepscope is missing: {error}", file=sys.stderr)
        return None
    # The script may change the current folder; the trace goes where the user stood.
    folder = Path(os.path.abspath(trace_folder(settings, document, None)))
    whole = arguments.whole or arguments.seconds is not None
    recorder = ScriptRecorder(
        arguments.program,
        settings,
        folder,
        arguments.seconds,
        arguments.memory_gib,
        arguments.follow,
        window=None if whole else replace(arguments.window, together=has_peers()),
        stop=arguments.stop,
    )
    recorder.words = [*(["-m"] if arguments.is_module else []), arguments.program, *arguments.program_arguments]
    given = {name: value for name, value in values.items() if name != "output"}
    recorder.overrides = [(name, value, None) for name, value in given.items()]
    recorder.output = None if settings.output is None else os.path.abspath(os.path.expanduser(settings.output))
    return recorder


def _report(traces: list[Path], notes: list[str], quiet: bool) -> None:
    """What the user has to know, on stderr, where it does not mix with the script's own output."""
    for note in notes:
        print(f"stepscope: {note}", file=sys.stderr)
    if quiet or not traces:
        return
    shown = [_shown(path) for path in traces]
    target = shown[-1] if len(shown) == 1 else os.path.dirname(shown[-1]) or "."
    what = shown[0] if len(shown) == 1 else f"{len(shown)} traces in {target}"
    print(f"stepscope: {what}  (open: stepscope view {shlex.quote(target)})", file=sys.stderr)
    if not has_peers():
        # The first screen about the latest trace, in a log too; of several ranks, none would be the job's.
        print_summary(shown[-1])


def _print(text: str) -> None:
    """To stdout, whose reader may have seen enough."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _shown(path: Path) -> str:
    """A short name that works from the current folder."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):
        return str(path)
    return str(path) if relative.startswith("..") else relative


def _end_as(ending: Ending) -> int:
    if ending.interrupted:
        # Its traceback was shown. The interpreter now ends the process by the signal itself, as without us.
        sys.excepthook = _silent
        raise KeyboardInterrupt
    return ending.exit_code


def _silent(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
