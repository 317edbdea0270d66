"""No framework: text is counted, line after line, and a table is written."""

from __future__ import annotations

import sys
from collections import Counter

from timed import Timed

FILES = int(sys.argv[1]) if len(sys.argv) > 1 else 120


def text(number):
    return " ".join(f"word{(number * 7919 + place * 31) % 977}" for place in range(4000))


def count(words, table):
    for word in words.split():
        table[word.lower().strip(".,")] += 1


timed = Timed()
table = Counter()
for number in range(FILES):
    count(text(number), table)
    timed.iteration()
timed.report(words=len(table))
