"""A bare parse with Python's own json: no number is made of it."""

import json

from _common import inflater, main, read

NAME, INFLATE = inflater()


def work(path, note):
    return "%d events" % len(json.loads(read(path, INFLATE))["traceEvents"])


main(work)
