"""Floor: read the file and inflate it, nothing else."""

from _common import inflater, main, read

NAME, INFLATE = inflater()


def work(path, note):
    return "%d bytes with %s" % (len(read(path, INFLATE)), NAME)


main(work)
