"""Moved to :mod:`prophase.workers`."""

from prophase.workers import parse_workers, run_all

__all__ = ["parse_workers", "run_all"]
