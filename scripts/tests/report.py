"""What a run of the tests did and how long it took, from the JUnit files that every test runner writes.

    report.py FOLDER      prints the table; exit code 1 if a test failed

FOLDER holds `stages.json` (the seconds of the whole, and of each stage) and one `*.xml` per stage with tests. The same table is kept in
FOLDER/report.txt.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field

SLOWEST = 20
# What a Rust test prints when it could not run.
SKIPPED = re.compile(r"^skipped: (.+)$", re.MULTILINE)


@dataclass
class Case:
    suite: str
    name: str
    seconds: float
    outcome: str  # passed, failed, skipped or retried
    reason: str = ""


@dataclass
class Report:
    seconds: float
    # Name, seconds, seconds of processors, exit code.
    stages: list[tuple[str, float, float, int]] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)

    def of(self, outcome: str) -> list[Case]:
        return [case for case in self.cases if case.outcome == outcome]


def read(folder: pathlib.Path) -> Report:
    run = json.loads((folder / "stages.json").read_text())
    stages = [(stage["name"], stage["seconds"], stage["processor"], stage["code"]) for stage in run["stages"]]
    report = Report(run["seconds"], stages)
    for path in sorted(folder.glob("*.xml")):
        report.cases += cases(path)
    nightly = folder / "rust-nightly.txt"
    if nightly.exists():
        names = [line for line in nightly.read_text().splitlines() if "::" in line]
        report.cases += [Case("rust", name, 0.0, "skipped", "takes long: runs with make test-nightly") for name in names]
    retried = folder / "retried.txt"
    names = set(retried.read_text().splitlines()) if retried.exists() else set()
    for case in report.cases:
        if case.outcome == "passed" and case.name in names:
            case.outcome = "retried"
    return report


def cases(path: pathlib.Path) -> list[Case]:
    found = []
    for element in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{element.get('classname', '')} {element.get('name', '')}".strip()
        outcome, reason = outcome_of(element)
        found.append(Case(path.stem, name, float(element.get("time") or 0), outcome, reason))
    return found


def outcome_of(element: ElementTree.Element) -> tuple[str, str]:
    if element.find("failure") is not None or element.find("error") is not None:
        return "failed", ""
    skipped = element.find("skipped")
    if skipped is not None:
        # Playwright gives the reason as a property.
        said = [one.get("value") for one in element.iter("property") if one.get("name") == "skip"]
        return "skipped", skipped.get("message") or next(filter(None, said), "no reason given")
    if element.find("flakyFailure") is not None or element.find("flakyError") is not None:
        return "retried", ""
    said = SKIPPED.search(element.findtext("system-out") or "")
    return ("skipped", said.group(1)) if said else ("passed", "")


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:2} s" if minutes else f"{rest} s"


def table(report: Report) -> str:
    width = max(len(name) for name, *_ in report.stages)
    lines = ["", f"{'STAGES':{width}}    {'took':>12}  {'processors':>12}"]
    for name, seconds, processor, code in report.stages:
        lines.append(f"  {name:{width}}  {clock(seconds):>12}  {clock(processor):>12}{'' if code == 0 else '   FAILED'}")
    used = sum(processor for *_, processor, _ in report.stages)
    # Stages run side by side: the whole takes less than their sum.
    lines.append(f"  {'the whole':{width}}  {clock(report.seconds):>12}  {clock(used):>12}")
    slowest = sorted(report.cases, key=lambda case: -case.seconds)[:SLOWEST]
    if slowest:
        lines += ["", f"SLOWEST {len(slowest)} TESTS OF {len(report.cases)}"]
        lines += [f"  {case.seconds:7.1f} s  {case.suite}: {case.name}" for case in slowest]
    skipped = Counter((case.suite, case.reason) for case in report.of("skipped"))
    if skipped:
        lines += ["", "SKIPPED"]
        lines += [f"  {count:5}  {suite}: {reason}" for (suite, reason), count in sorted(skipped.items())]
    for outcome, heading in (("retried", "PASSED ONLY WHEN TRIED AGAIN"), ("failed", "FAILED")):
        if report.of(outcome):
            lines += ["", heading]
            lines += [f"  {case.suite}: {case.name}" for case in report.of(outcome)]
    broken = [name for name, *_, code in report.stages if code != 0]
    counts = {outcome: len(report.of(outcome)) for outcome in ("passed", "retried", "failed", "skipped")}
    counts["passed"] += counts["retried"]
    words = f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"
    if counts["retried"]:
        words += f"; {counts['retried']} of them passed only when tried again"
    lines += ["", words]
    if broken:
        lines.append(f"failed: {', '.join(broken)}")
    return "\n".join(lines)


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    report = read(folder)
    text = table(report)
    (folder / "report.txt").write_text(text.lstrip() + "\n")
    print(text)
    return 1 if report.of("failed") or any(code for *_, code in report.stages) else 0


if __name__ == "__main__":
    raise SystemExit(main())
