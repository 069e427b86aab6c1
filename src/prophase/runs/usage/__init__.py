"""Measure what a command or this program uses, from a process beside it.

What runs beside a task imports nothing but the standard library: it starts in
milliseconds and its own memory does not disturb what it measures.
"""
