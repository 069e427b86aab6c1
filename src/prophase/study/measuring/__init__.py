"""What to measure next, and what a job should ask for that nobody has run before."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.measuring.first_run import FirstRun, first_run
    from prophase.study.measuring.next_runs import NextRuns, next_runs, registration

_HOMES = {
    "FirstRun": "first_run",
    "NextRuns": "next_runs",
    "first_run": "first_run",
    "next_runs": "next_runs",
    "registration": "next_runs",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["FirstRun", "NextRuns", "first_run", "next_runs", "registration"]
