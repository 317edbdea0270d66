"""Profiling inside other frameworks. Each module needs its framework and says so where it is missing.

``stepscope.integrations.lightning``, ``.transformers``, ``.keras``, ``.pytest_plugin`` and ``.ipython``.
"""
