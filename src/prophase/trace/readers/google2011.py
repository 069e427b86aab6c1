"""Google cluster jobs of 2011: requests and run times of (mostly) single-task jobs.

Derived from ClusterData 2011-2 (Reiss, Wilkes, Hellerstein 2011). The trace hides
the size of its machines: requests are shares of the largest one, so they are
attributes here, not cores and GiB. It has no clock; ids grow with submission.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.source_files import SourceFile

_STEP_S = 300.0


def _read(dump: Dump) -> Tables:
    jobs = stack([_jobs(dump, file) for file in dump.find("jobs*.csv", "google*.csv")])
    return {"jobs": jobs.mutate(submit_order=ibis.rank().over(order_by=jobs._place)).drop("_place")}


def _jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    sheet = dump.sheet(file)
    sheet.need("job_id", "duration_5min_units")
    return sheet.select(
        _place=sheet.number("job_id"),
        job_id=sheet.text("job_id"),
        user=sheet.text("user"),
        group=sheet.text("logical_name"),
        duration_s=sheet.number("duration_5min_units", factor=_STEP_S).round(),
        instances=sheet.number("num_tasks"),
        priority=sheet.number("priority"),
        attr_scheduling_class=sheet.number("scheduling_class"),
        attr_request_cpu_pct=sheet.number("request_cpu"),
        attr_request_ram_frac=sheet.number("request_ram"),
        attr_request_disk_frac=sheet.number("request_disk"),
    )


READER = Reader(
    name="google2011",
    aliases=("google2011-jobs",),
    title="Google cluster jobs (2011) with recurring names and run times",
    fills={
        "jobs": (
            "job_id user group submit_order duration_s instances priority "
            "attr_scheduling_class attr_request_cpu_pct attr_request_ram_frac "
            "attr_request_disk_frac"
        ).split()
    },
    cannot="times of day, status, use, GPUs; requests are shares of an unknown machine",
    read=_read,
    patterns=("jobs*.csv", "google*.csv"),
    signature=("job_id", "logical_name", "scheduling_class", "duration_5min_units"),
)
