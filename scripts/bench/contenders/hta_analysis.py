"""HTA: loads one trace, then its temporal breakdown (overview) and its kernel breakdown.

Its table of operators and their kernels takes several times as long as all the rest and is left
out, which is in HTA's favor.
"""

import logging

from _common import failure, main
from hta.trace_analysis import TraceAnalysis

logging.disable(logging.CRITICAL)


def work(path, note):
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="")
    found = ["%d events kept" % len(analysis.t.get_trace(0))]
    try:
        found.append("%d ranks" % len(analysis.get_temporal_breakdown(visualize=False)))
    except Exception as error:
        note("temporal breakdown: " + failure(error))
    try:
        kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
        found.append("%d kinds, %d kernels" % (len(kinds), len(kernels)))
    except Exception as error:
        note("kernel breakdown: " + failure(error))
    return ", ".join(found)


main(work)
