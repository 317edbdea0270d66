#!/usr/bin/env python3
"""The benchmark behind `make bench`: stepscope, its floors and its rivals side by side in one run.

Each contender loads one trace and makes its overview, operator and kernel tables (the floors and
bare parses do less than that). See --help; needs nothing but Python's standard library itself.
"""

import argparse
import glob
import json
import os
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import environment  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402

# name, title, script, the package without which it cannot run
CONTENDERS = [
    ("stepscope", "stepscope summary", None, None),
    ("inflate", "floor: inflate alone", "inflate.py", None),
    ("scan", "floor: inflate and byte scan", "scan.py", None),
    ("orjson", "orjson, bare parse", "orjson_parse.py", "orjson"),
    ("orjson_nogc", "orjson, bare parse, gc off", "orjson_nogc.py", "orjson"),
    ("json", "Python json, bare parse", "json_parse.py", None),
    ("tb_plugin", "torch-tb-profiler", "tb_plugin.py", "torch-tb-profiler"),
    ("hta", "HTA", "hta_analysis.py", "traceinsight"),
]


def options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--trace", action="append", default=[], metavar="PATH", help="a trace to load; may be given several times")
    add("--synthetic", default="", metavar="N,N", help="also synthetic traces of so many events (made once)")
    add("--repeat", type=int, default=5, metavar="N", help="runs of each contender (default 5)")
    add("--only", default="", metavar="NAMES", help="of " + ",".join(c[0] for c in CONTENDERS))
    add("--timeout", type=float, default=600, metavar="SECONDS", help="per run (default 600)")
    add("--memory", type=float, default=0, metavar="GB", help="per run (default: 85%% of what is free)")
    add("--stepscope", default=os.path.join(environment.ROOT, "target", "release", "stepscope"), metavar="PATH")
    add("--stepscope-args", default="summary --no-findings", metavar="WORDS",
        help="what comes before the trace (default: the tables that the peers make too)")
    add("--json", metavar="OUT", help="write all measurements there")
    add("--markdown", nargs="?", const="-", metavar="OUT", help="write the report as Markdown, there or to stdout")
    given = parser.parse_args()
    try:
        given.synthetic = [int(float(n.replace("_", ""))) for n in given.synthetic.split(",") if n]
    except ValueError:
        parser.error("--synthetic wants numbers of events, with commas between them")
    given.only = [name for name in given.only.split(",") if name]
    unknown = set(given.only) - {contender[0] for contender in CONTENDERS}
    if unknown:
        parser.error("no such contender: " + ", ".join(sorted(unknown)))
    given.repeat = max(given.repeat, 1)
    CONTENDERS[0] = ("stepscope", "stepscope " + given.stepscope_args, None, None)
    return parser, given


def default_trace():
    """The trace to load when none was named."""
    named = os.environ.get("STEPSCOPE_BENCH_TRACE")
    if named:
        return [named]
    bundled = os.path.join(environment.ROOT, "fixtures", "pytorch")
    found = [p for end in ("json.gz", "json") for p in glob.glob(os.path.join(bundled, "**", "*." + end), recursive=True)]
    return sorted(found, key=os.path.getsize)[-1:]


def command(given, script, path):
    """How a contender is called."""
    if script is None:
        return [given.stepscope] + given.stepscope_args.split() + [path]
    return [environment.python(), "-B", os.path.join(environment.HERE, "contenders", script), path]


def measure_trace(given, path, missing, limit):
    """All contenders on one trace, in turn, so that a slow minute of the machine hits them all."""
    trace = {"name": os.path.basename(path), "synthetic": os.path.dirname(path).endswith("bench-data")}
    trace.update(measure.look_at(path))
    runs = {name: [] for name, _, _, _ in CONTENDERS if not given.only or name in given.only}
    for turn in range(given.repeat):
        for name, _, script, package in CONTENDERS:
            if name not in runs or any(r["cut"] or r["wall"] is None for r in runs[name]):
                continue
            if package in missing:
                result = {"wall": None, "cpu": None, "peak": None, "seconds": None, "figure": None, "cut": False}
                result["fails"] = "cannot be installed: " + measure.clean(missing[package])
            else:
                environment.say("%s: %s, run %d" % (trace["name"], name, turn + 1))
                result = measure.run_once(command(given, script, path), given.timeout, limit)
            runs[name].append(result)
    trace["entries"] = [
        summarise(name, title, runs[name], given.timeout) for name, title, _, _ in CONTENDERS if name in runs
    ]
    return trace


def summarise(name, title, runs, timeout):
    """Best and median of a contender's runs."""
    cut = any(run["cut"] for run in runs)
    # A contender that ended without a number did not do the work, so its time says nothing.
    good = [run for run in runs if run["wall"] is not None and run["figure"] is not None]
    walls = [run["wall"] for run in good]
    inside = [run["seconds"] for run in good if run["seconds"] is not None]
    peaks = [run["peak"] for run in runs if run["peak"] is not None]
    return {
        "name": name,
        "title": title,
        "best": None if cut or not walls else min(walls),
        "median": None if cut or not walls else statistics.median(walls),
        "inside": None if cut or not inside else min(inside),
        "cpu": None if cut or not good else min(run["cpu"] for run in good),
        "peak": max(peaks) if peaks else None,
        "figure": next((run["figure"] for run in runs if run["figure"]), None),
        "fails": next((run["fails"] for run in runs if run["fails"]), ""),
        "cut": cut,
        "timeout": timeout,
        "runs": runs,
    }


def main():
    """Measures and reports."""
    parser, given = options()
    paths = given.trace + environment.synthetic(given.synthetic)
    paths = paths or default_trace()
    if not paths:
        parser.error("no trace: name one with --trace or STEPSCOPE_BENCH_TRACE")
    for path in paths:
        if not os.path.isfile(path):
            parser.error("no such file: " + path)
    missing = environment.prepare() if given.only != ["stepscope"] else {}
    limit = int(given.memory * 1e9 or environment.free_memory() * 0.85)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    data = {"load": load, "machine": environment.machine(given.stepscope), "repeat": given.repeat, "memory_limit": limit, "traces": []}
    for path in paths:
        data["traces"].append(measure_trace(given, os.path.abspath(path), missing, limit))
    # A child starts as a copy of this process, so no child can show less than one that does nothing.
    data["rss_floor"] = measure.run_once(["true"], given.timeout, limit)["peak"] or 0
    print(report.render(data, markdown=given.markdown == "-"))
    if given.markdown not in (None, "-"):
        with open(given.markdown, "w") as file:
            file.write(report.render(data, markdown=True))
    if given.json:
        with open(given.json, "w") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
