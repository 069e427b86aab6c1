"""Measure what a command or this program uses, from a process beside it.

What runs beside a task imports nothing but the standard library: it starts in
milliseconds and its own memory does not disturb what it measures.
"""

from prophase.lazy import lazy_names

_HOMES = {"log_usage": "logging", "read_usage": "table", "run_logged": "logging"}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["log_usage", "read_usage", "run_logged"]
