"""Tables and checks from the measurements."""

HEADINGS = ["tool", "wall best", "wall median", "CPU best", "inside", "peak memory", "B/event over input", "ratio", "note"]

# A rival's number must be at least so many times stepscope's.
RIVALS = [("orjson", 8.0), ("orjson_nogc", 8.0), ("tb_plugin", 30.0), ("hta", 40.0)]
FLOOR_TIMES = 3.0
BYTES_PER_EVENT = 150.0
# Time per event may grow by this much from the smallest to the largest synthetic trace.
LINEAR_SLACK = 1.15


def seconds(value):
    """A time with three digits that matter."""
    if value is None:
        return "-"
    return "%.0f ms" % (value * 1e3) if value < 1 else "%.2f s" % value if value < 100 else "%.0f s" % value


def size(value):
    """A size in MB."""
    return "-" if value is None else "%.1f MB" % (value / 1e6)


def row(entry, trace, base):
    """One line of the table."""
    cells = [entry["title"]]
    if entry["best"] is None:
        cut = "> %.0f s" % entry["timeout"] if entry["cut"] else "-"
        ratio = "> %.0fx" % (entry["timeout"] / base) if entry["cut"] and base else "-"
        cells += [cut, cut, "-", "-", size(entry["peak"]), "-", ratio]
    else:
        over = "%.0f" % beyond(entry, trace)
        ratio = "%.2fx" % (entry["best"] / base) if base else "-"
        times = [entry["best"], entry["median"], entry["cpu"], entry["inside"]]
        cells += [seconds(time) for time in times] + [size(entry["peak"]), over, ratio]
    notes = [entry["figure"] or "", "fails: " + entry["fails"] if entry["fails"] else ""]
    return cells + ["; ".join(note for note in notes if note)]


def beyond(entry, trace, input_bytes="file_bytes"):
    """Peak memory per event, the input taken off."""
    return (entry["peak"] - trace[input_bytes]) / max(trace["events"], 1)


def base_of(trace):
    """stepscope's best wall time, if it ran through."""
    return next((e["best"] for e in trace["entries"] if e["name"] == "stepscope" and not e["fails"]), None)


def table(trace, markdown):
    """The lines of one trace's table."""
    rows = [HEADINGS] + [row(entry, trace, base_of(trace)) for entry in trace["entries"]]
    if markdown:
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in rows]
        lines.insert(1, "|---|" + "---:|" * (len(HEADINGS) - 2) + "---|")
        return lines
    widths = [max(len(cells[i]) for cells in rows) for i in range(len(HEADINGS))]
    last = len(HEADINGS) - 1
    return [
        "  ".join(
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths))
        ).rstrip()
        for cells in rows
    ]


def check(reached, words):
    """One line of the verdict; `reached` is None where it could not be measured."""
    return "%s: %s" % ({True: "reached", False: "not reached", None: "not measured"}[reached], words)


def checks(trace):
    """The targets on one trace.

    Rivals and floors count with the time measured inside them, without the start of the
    interpreter and its imports; stepscope counts with the whole of its process.
    """
    entries = {entry["name"]: entry for entry in trace["entries"]}
    own = entries.get("stepscope")
    base = base_of(trace)
    lines = []
    for name, target in RIVALS:
        rival = entries.get(name)
        words = ">= %.0fx %s" % (target, rival["title"] if rival else name)
        if base and rival and rival["inside"]:
            times = rival["inside"] / base
            part = " (that part of it which runs)" if rival["fails"] else ""
            lines.append(check(times >= target, "%s: %.1fx%s" % (words, times, part)))
        elif base and rival and rival["cut"]:
            times = rival["timeout"] / base
            lines.append(check(True if times >= target else None, "%s: more than %.1fx" % (words, times)))
        else:
            lines.append(check(None, words))
    floor = entries.get("inflate")
    words = "wall <= %.0fx inflate alone" % FLOOR_TIMES
    if base and floor and floor["inside"]:
        times = base / floor["inside"]
        lines.append(check(times <= FLOOR_TIMES, "%s: %.2fx" % (words, times)))
    else:
        lines.append(check(None, words))
    words = "memory <= %.0f bytes/event + the input" % BYTES_PER_EVENT
    if base and own:
        file, text = beyond(own, trace), beyond(own, trace, "text_bytes")
        shown = "%s: %.0f over the file (%.0f over its text)" % (words, file, text)
        lines.append(check(file <= BYTES_PER_EVENT, shown))
    else:
        lines.append(check(None, words))
    return lines


def linear(traces):
    """Whether time grows no faster than the number of events, over the synthetic traces."""
    made = sorted((t for t in traces if t["synthetic"]), key=lambda t: t["events"])
    words = "linear from the smallest to the largest synthetic trace"
    if len(made) < 2 or not base_of(made[0]) or not base_of(made[-1]):
        return check(None, words)
    small, large = made[0], made[-1]
    growth = (base_of(large) / large["events"]) / (base_of(small) / small["events"])
    sizes = "%d to %d events" % (small["events"], large["events"])
    return check(growth <= LINEAR_SLACK, "linear, %s: time per event x %.2f" % (sizes, growth))


def render(data, markdown):
    """The whole report."""
    host = data["machine"]
    versions = ", ".join("%s %s" % pair for pair in host["versions"].items())
    facts = "%s, %d cores, %.1f GB, %s" % (
        host["processor"], host["cores"], host["memory_bytes"] / 1e9, host["system"])
    method = (
        "%d runs each in turn, page cache warm, each in a process of its own; peak memory is the "
        "process's largest resident size (nothing below %s can be seen); `inside` leaves out the "
        "interpreter's start and imports; the ratio is wall best to stepscope's." % (data["repeat"], size(data["rss_floor"]))
    )
    lines = [facts, "", versions, "", method, ""]
    if data["load"] > 0.5 * host["cores"]:
        busy = "The machine was busy (load %.1f on %d cores): the wall times are too long, CPU best tells more."
        lines += [busy % (data["load"], host["cores"]), ""]
    for trace in data["traces"]:
        title = "%s: %d events, %s as a file, %s as text" % (
            trace["name"], trace["events"], size(trace["file_bytes"]), size(trace["text_bytes"]))
        lines += [("### " if markdown else "") + title, ""] + table(trace, markdown) + [""]
        lines += [("- " if markdown else "") + line for line in checks(trace)] + [""]
    if any(trace["synthetic"] for trace in data["traces"]):
        lines += [("- " if markdown else "") + linear(data["traces"]), ""]
    return "\n".join(lines)
