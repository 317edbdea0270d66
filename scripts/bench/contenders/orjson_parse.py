"""A bare parse with orjson: no number is made of it."""

import orjson
from _common import inflater, main, read

NAME, INFLATE = inflater()


def work(path, note):
    return "%d events" % len(orjson.loads(read(path, INFLATE))["traceEvents"])


main(work)
