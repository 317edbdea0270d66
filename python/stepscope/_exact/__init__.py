"""Every call and every line counted, timed and recorded, in the layouts of ``cProfile`` and ``line_profiler``."""
