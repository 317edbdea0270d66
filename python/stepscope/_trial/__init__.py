"""One run of a program for ``stepscope try``: without a profiler, with fixes put in from outside, and timed.

``python -m stepscope._trial ORDER.json`` does what the order says and writes what it measured beside it. Which runs
there are, and what they prove, is decided in Rust.
"""
