"""Floor: read, inflate, and look at every byte once."""

from _common import inflater, main, read

NAME, INFLATE = inflater()


def work(path, note):
    text = read(path, INFLATE)
    return "%d lines, %s and one scan" % (text.count(b"\n"), NAME)


main(work)
