"""torch-tb-profiler: its loader and all of its views, in this process and without TensorBoard."""

import logging
import tempfile

from _common import main
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator

logging.disable(logging.CRITICAL)


def work(path, note):
    with tempfile.TemporaryDirectory() as cache:
        data = RunProfileData.parse("worker", "1", path, cache)
        views = RunGenerator("worker", "1", data).generate_run_profile()
    operators = len(views.operation_table_by_name["data"])
    kernels = len(views.kernel_table["data"]["rows"]) if views.kernel_table else 0
    return "%d steps, %d operators, %d kernels" % (len(data.steps_names), operators, kernels)


main(work)
