#!/usr/bin/env python3
"""A picture of what a command prints in a terminal, for the README.

python3 scripts/terminal_picture.py OUT.png [--columns N] [--leave-out FROM TO WORDS] [--lines N] -- COMMAND...

Colors are those of a dark terminal. `--leave-out` replaces the sections from the heading FROM to the heading TO by
WORDS.
Needs Chromium, and `stepscope` on the PATH; run it where the trace is, so that paths are short.
"""

import argparse
import html
import os
import re
import shutil
import subprocess
import tempfile

STYLE = {"1": "font-weight:bold;color:#fff", "2": "color:#8b8b93"}
LEVELS = (0, 95, 135, 175, 215, 255)
PAGE = """<meta charset=utf-8><style>body{margin:0;background:#18181d;color:#dcdce4}
pre{font:14px/18px "DejaVu Sans Mono",monospace;margin:0;padding:18px 20px;display:inline-block}</style><pre>%s</pre>"""


def color(number):
    """One of a terminal's 256 colors beyond the first 16."""
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    return "#" + "".join(f"{LEVELS[(number - 16) // place % 6]:02x}" for place in (36, 6, 1))


def marked_up(line):
    """A line with its escape sequences as spans."""
    parts, open_spans = [], 0
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if not codes:
            parts.append(html.escape(piece))
            continue
        if codes[1] in ("", "0"):
            parts.append("</span>" * open_spans)
            open_spans = 0
            continue
        indexed = re.fullmatch("38;5;([0-9]+)", codes[1])
        style = f"color:{color(int(indexed[1]))}" if indexed else STYLE.get(codes[1], "")
        parts.append(f'<span style="{style}">')
        open_spans += 1
    return "".join(parts) + "</span>" * open_spans


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("out")
    words.add_argument("--columns", type=int, default=100)
    words.add_argument("--leave-out", nargs=3, metavar=("FROM", "TO", "WORDS"))
    words.add_argument("--lines", type=int)
    words.add_argument("command", nargs="+")
    asked = words.parse_args()
    environment = os.environ | {"COLUMNS": str(asked.columns), "TERM": "xterm-256color"}
    run = subprocess.run([*asked.command, "--color", "always"], env=environment, stdout=subprocess.PIPE, text=True)
    lines = run.stdout.rstrip("\n").split("\n")
    if asked.leave_out:
        first, last, instead = asked.leave_out
        plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
        from_, to = (next(at for at, line in enumerate(plain) if line.startswith(head)) for head in (first, last))
        lines[from_:to] = [f"   \x1b[2m⋮  {instead}\x1b[0m", ""]
    typed = " ".join(asked.command)
    lines = [f"\x1b[2m$\x1b[0m {typed}", "", *lines[:asked.lines]]
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    width = round(8.43 * asked.columns) + 40
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        with open(page, "w") as file:
            file.write(PAGE % "\n".join(map(marked_up, lines)))
        subprocess.run([browser, "--headless", "--no-sandbox", "--hide-scrollbars", f"--screenshot={asked.out}",
                        f"--window-size={width},{18 * len(lines) + 36}", page], check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
