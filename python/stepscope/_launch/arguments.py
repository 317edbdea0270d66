"""The command line of ``stepscope run``: our options, then the script and its own arguments."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from ..errors import StepscopeError
from . import call_options
from .window import Window

SECTION = "profiling"

#: What functions can be sorted by: names that ``pstats`` knows.
SORT_KEYS = ("cumulative", "time", "calls", "name", "filename", "tottime", "cumtime", "ncalls", "pcalls")

HELP = """\
Run a Python script or module and record where its time goes.

Usage: stepscope run [OPTIONS] SCRIPT [ARGUMENTS...]
       stepscope run [OPTIONS] -m MODULE [ARGUMENTS...]

The script runs exactly as under `python SCRIPT ARGUMENTS...`, and its exit code is kept. Named regions,
Python stacks and system counters are recorded, and operators of PyTorch (with shapes and memory), JAX and
TensorFlow if the script uses them: of a short script all, else a few iterations. They are timed without the
profiler first; once they are steady, some are recorded, and the script goes on at full speed. An iteration is a
step of the first optimizer, or else a batch of Keras or of a data loader, or a call of the model or of a compiled
function. The stacks of child processes that run Python are sampled too.

With --memory the allocations of Python and of native libraries are tracked instead: the peak, the lines that hold
it, and what is never freed. With --memory --lines, the memory of the process is read after each line of functions,
as `python -m memory_profiler` does.

With --functions every call is counted instead, as `python -m cProfile` does, and with --lines the lines of
functions are timed, as `kernprof -l` does: those decorated with @profile (no import needed) and those named
after --lines. The table goes to stderr and into a file. With --calls every call is recorded with its start
and end, as `viztracer` does: a timeline of what --functions adds up, written while the script runs.

Options:
      --functions              count every call: how often, by whom, how long
      --lines [NAME...]        time the lines of these functions: train_step, 'Model.*', loader.py:read;
                               a name may have * and ?, and --lines=NAME,NAME works too; `auto` finds
                               the busiest functions in the first second and times them after that
      --memory                 track allocations, one sample per 32 KiB on average; --memory=exact records every one
      --trace, --gpu           with one of the modes above or --calls: record the trace in the same run too, with
                               operators, samples, and counters of the machine and its GPUs
      --sort KEY               sort functions by cumulative, time, calls or name [default: cumulative]
      --top N                  print this many functions; 0 means all [default: 30]
      --calls                  record a timeline of every call, about 8 bytes each
      --min-duration TIME      leave out calls shorter than this, such as 10us; their caller gets the time
      --max-depth N            leave out calls deeper than this
      --include NAME           record only functions of this name, as after --lines; may be repeated
      --exclude NAME           leave these functions out
      --max-calls N            stop recording after this many calls while the script goes on
                               [default: 10000000, about 100 MB]
      --no-follow              do not record child processes. Otherwise they are in the script's trace; with --memory,
                               --functions and --lines each has a file of its own, and the last two add them up
      --config FILE            read the `profiling:` section of a .yaml, .json or .toml file
      --profiling.KEY VALUE    change one setting: --profiling.active 2, --profiling.with_stack
  -o, --output FOLDER          write the trace here [default: profiler_traces in the run folder];
                               with --functions, --lines, --calls or --memory a file [default:
                               SCRIPT.prof, SCRIPT.lprof, SCRIPT.calls or SCRIPT.mem]
      --iterations N           record this many iterations [default: 2 to 10, up to 2 s]
      --window TIME            record iterations for this long, such as 5s
      --after N                record after this many iterations [default: when they are steady]
      --stop                   end the script once they are recorded
      --whole                  record operators from the first to the last, within the next two limits
      --seconds N              the same, for N seconds at most; 0 means no limit [default: 60 with a framework, whose
                               operators fill memory; no limit without]
      --max-memory GIB         stop recording when PyTorch's operators may take this much memory; 0 means
                               no limit [default: half of what is free, at most 8]
  -q, --quiet                  don't print the summary (on a terminal) and the path when done
  -m MODULE                    run a module, like `python -m`
  -h, --help                   print this help

Examples:
  stepscope run train.py --epochs 1
  stepscope run --profiling.wait 5 --profiling.active 3 -o traces train.py
  stepscope run --config run.yaml -m package.train run.yaml
  stepscope run torchrun --nproc-per-node 2 train.py
  stepscope run --functions --sort time train.py
  stepscope run --lines train_step 'Model.*' train.py
  stepscope run --calls --min-duration 10us train.py
  stepscope run --memory train.py
  stepscope run --memory=exact --lines load_data train.py
"""


@dataclass
class RunArguments:
    """A parsed command line."""

    program: str = ""
    is_module: bool = False
    program_arguments: list[str] = field(default_factory=list)
    config: str | None = None
    #: ``--profiling.…`` arguments as they were typed.
    overrides: list[str] = field(default_factory=list)
    output: str | None = None
    #: Record operators of the whole run, not of a window of iterations.
    whole: bool = False
    #: End the script once a window is recorded.
    stop: bool = False
    window: Window = field(default_factory=Window)
    #: None: the default, which holds only while PyTorch's operators are recorded. 0: no limit.
    seconds: float | None = None
    #: What PyTorch's operators may take to be written, in GiB. None: the default. 0: no limit.
    memory_gib: float | None = None
    quiet: bool = False
    help: bool = False
    #: Count every call.
    functions: bool = False
    #: Time the lines of functions of these names, and of those that are marked. None: don't.
    lines: list[str] | None = None
    #: Track memory: ``sampled`` or ``exact``. None: don't.
    memory: str | None = None
    #: Besides another mode: the trace too.
    trace: bool = False
    sort: str = "cumulative"
    top: int = 30
    #: Record child processes too.
    follow: bool = True
    #: Record a timeline of every call.
    calls: bool = False
    call_options: call_options.CallOptions = field(default_factory=call_options.CallOptions)


def parse(arguments: list[str]) -> RunArguments:
    """Split the arguments after ``stepscope run``. Everything from the script's name on is the script's.

    >>> parsed = parse(["--profiling.active", "2", "train.py", "--lr", "0.1"])
    >>> parsed.program, parsed.program_arguments, parsed.overrides
    ('train.py', ['--lr', '0.1'], ['--profiling.active', '2'])
    """
    parsed = RunArguments()
    at = 0

    def value(option: str) -> str:
        nonlocal at
        if at >= len(arguments):
            raise StepscopeError(f"{option} needs a value", hint="`stepscope run --help` lists the options")
        at += 1
        return arguments[at - 1]

    while at < len(arguments):
        argument = arguments[at]
        at += 1
        name, equals, attached = argument.partition("=")
        if argument in ("-h", "--help"):
            parsed.help = True
            return parsed
        if argument in ("-q", "--quiet"):
            parsed.quiet = True
        elif argument == "--functions":
            parsed.functions = True
        elif argument == "--calls":
            parsed.calls = True
        elif argument == "--stop":
            parsed.stop = True
        elif argument == "--whole":
            parsed.whole = True
        elif argument == "--no-follow":
            parsed.follow = False
        elif name in call_options.OPTION_NAMES:
            parsed.call_options.set(name, attached if equals else value(name))
        elif name == "--memory":
            if equals and attached not in ("exact", "sampled"):
                raise StepscopeError(
                    f"--memory takes exact or sampled; it is {attached!r}",
                    hint="use --memory, or --memory=exact to record every allocation",
                )
            parsed.memory = attached or "sampled"
        elif argument in ("--trace", "--gpu"):
            # Without another mode a trace is recorded anyway.
            parsed.trace = True
        elif name == "--lines":
            parsed.lines = parsed.lines or []
            parsed.lines += [one for one in attached.split(",") if one]
            while not equals and at < len(arguments) - 1 and not _ends_names(arguments[at]):
                parsed.lines.append(value("--lines"))
        elif name in ("--iterations", "--window", "--after"):
            parsed.window = _with(parsed.window, name[2:], attached if equals else value(name))
        elif name in ("--config", "--output", "--seconds", "--max-memory", "--sort", "--top"):
            _set(parsed, name, attached if equals else value(name))
        elif argument == "-o":
            parsed.output = value("-o")
        elif argument.startswith("-o") and not argument.startswith("--"):
            parsed.output = argument[2:].lstrip("=")
        elif name.startswith(f"--{SECTION}."):
            parsed.overrides.append(argument)
            key = name[len(SECTION) + 3 :].replace("-", "_")
            if not equals and at < len(arguments) and _takes_value(key, arguments[at]):
                parsed.overrides.append(value(name))
        elif argument == "-m" or (argument.startswith("-m") and not argument.startswith("--")):
            parsed.is_module = True
            parsed.program = argument[2:] or value("-m")
            break
        elif argument == "--":
            parsed.program = value("--")
            break
        elif argument.startswith("-") and argument != "-":
            raise StepscopeError(
                f"stepscope run has no option {argument}",
                hint="put the script's own options after its name; `stepscope run --help` lists ours",
            )
        else:
            parsed.program = argument
            break
    modes = {"--functions": parsed.functions, "--lines": parsed.lines is not None, "--calls": parsed.calls}
    chosen = [name for name, given in modes.items() if given]
    if len(chosen) > 1:
        raise StepscopeError(f"{' and '.join(chosen)} do not go together", hint="run the script once with each")
    if chosen and chosen != ["--lines"] and parsed.memory is not None:
        raise StepscopeError(f"{chosen[0]} and --memory do not go together", hint="run the script once with each")
    if parsed.call_options.given and not parsed.calls:
        raise StepscopeError(f"{parsed.call_options.given[0]} goes with --calls", hint="add --calls")
    if (parsed.window != Window() or parsed.stop) and (parsed.whole or parsed.seconds is not None):
        raise StepscopeError(
            "--iterations, --window, --after and --stop choose a part of the run, --whole and --seconds all of it",
            hint="leave out one or the other",
        )
    if not parsed.program:
        raise StepscopeError("no script to run", hint="use: stepscope run SCRIPT [ARGUMENTS...]")
    parsed.program_arguments = arguments[at:]
    return parsed


def _with(window: Window, name: str, text: str) -> Window:
    """The window with one more choice of the user.

    >>> _with(Window(), "window", "500ms").seconds, _with(Window(), "iterations", "4").iterations
    (0.5, 4)
    """
    if name == "window":
        return replace(window, seconds=call_options.seconds(text, "--window"))
    least = 1 if name == "iterations" else 0
    if not text.isdecimal() or int(text) < least:
        raise StepscopeError(
            f"--{name} must be a number, {least} or more; it is {text!r}", hint=f"use for example --{name} 10"
        )
    number = int(text)
    return replace(window, iterations=number) if name == "iterations" else replace(window, after=number)


def _takes_value(key: str, word: str) -> bool:
    """Whether the word after a setting is its value: one that is switched on needs none."""
    from ..config.settings import FLAGS
    from ..config.values import is_boolean_word

    return key not in FLAGS or is_boolean_word(word)


def _ends_names(word: str) -> bool:
    """Whether a word after ``--lines`` does not name a function: an option of ours, or the script.

    >>> [_ends_names(word) for word in ("train_step", "Model.*", "-m", "train.py", "loader.py:read")]
    [False, False, True, True, False]
    """
    if word.startswith("-") or word.endswith((".py", ".pyc", ".pyw")) or os.path.isfile(word):
        return True
    return os.path.isfile(os.path.join(word, "__main__.py"))


def _set(parsed: RunArguments, name: str, text: str) -> None:
    if name == "--config":
        parsed.config = text
    elif name == "--output":
        parsed.output = text
    elif name == "--sort":
        if text not in SORT_KEYS:
            raise StepscopeError(
                f"--sort must be one of {', '.join(SORT_KEYS)}; it is {text!r}", hint="use --sort time"
            )
        parsed.sort = text
    elif name == "--top":
        if not text.isdecimal():
            raise StepscopeError(f"--top must be a number, 0 or more; it is {text!r}", hint="use for example --top 20")
        parsed.top = int(text)
    else:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            example = "30" if name == "--seconds" else "4"
            raise StepscopeError(
                f"{name} must be a number, 0 or more; it is {text!r}",
                hint=f"use for example {name} {example}",
            )
        if name == "--seconds":
            parsed.seconds = number
        else:
            parsed.memory_gib = number
