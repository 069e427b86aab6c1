"""How large the trace is, and how many instances start together."""

from __future__ import annotations

import numpy as np

from prophase.trace.describe.counts import instances_of
from prophase.trace.describe.part import has_values, numbers
from prophase.trace.findings.figure import Asked, Finding, column, missing, weighted_share
from prophase.trace.loading import Trace


def scale(trace: Trace) -> Finding:
    """Count GPUs, nodes, tasks, instances and users."""
    asked = (
        Asked("GPUs of all nodes", "GPUs", ("nodes.gpus",), _gpus, (6742.0,)),
        Asked("nodes", "", ("nodes.node_id",), lambda t: float(len(t.nodes)), (1897.0,)),
        Asked("tasks: roles of each job, or jobs without roles", "", ("job_id",), tasks, (1.2e6,)),
        Asked(
            "instances of all tasks",
            "",
            ("job_id",),
            lambda t: float(instances_of(t.jobs).sum()),
            (7.5e6,),
        ),
        Asked("users", "", ("user",), lambda t: float(t.jobs["user"].nunique()), (1300.0,)),
    )
    return Finding("scale", "Scale", tuple(one.of(trace) for one in asked))


def gangs(trace: Trace) -> Finding:
    """Say which share of instances can only start together with others."""
    # a column of ones says that rows are instances, not that nobody has company
    known = not missing(trace, "gang_size")
    several = "gang_size" if known or not _has_several(trace) else "instances"
    asked = Asked(
        f"instances of tasks with more than one ({several})",
        "%",
        (several,),
        lambda t: weighted_share(
            column(t, several) > 1, ~np.isnan(column(t, several)), instances_of(t.jobs)
        ),
        (85.0,),
    )
    return Finding("gangs", "Gang-scheduled instances", (asked.of(trace),))


def tasks(trace: Trace) -> float:
    """Count the roles of all jobs; without jobs and roles, the rows."""
    jobs = trace.jobs
    if has_values(jobs, "parent_id", "task"):
        return float(len(jobs[["parent_id", "task"]].drop_duplicates()))
    return float(len(jobs))


def _gpus(trace: Trace) -> float:
    return float(np.nansum(numbers(trace.nodes, "gpus")))


def _has_several(trace: Trace) -> bool:
    jobs = trace.tables.get("jobs")
    return jobs is not None and bool((numbers(jobs, "instances") > 1).any())
