"""MIT Supercloud: jobs of its Slurm database and CPU series of single jobs.

Source: Samsi et al., "The MIT Supercloud Dataset", HPEC 2021. Columns are those of
Slurm's job table. What to know about them:

- ``mem_req`` of about 9.2e18 is Slurm's mark for memory per CPU (bit 63 set). The
  amount below the mark is lost where a spreadsheet rounded the number, so memory
  comes from ``tres_req``, which holds the total in MB.
- GPUs (``1002=`` in ``tres_req``) were recorded from 8 February 2021 on. Without a
  count, a job of 9 February or later asked for none, as Slurm has it; for an earlier
  job the number is unknown, not zero.
- The nodes in ``tres_req`` are the fewest the user accepts. Slurm may spread a job
  over more; ``after_nodes`` says over how many.
"""

from __future__ import annotations

import ibis

from prophase.errors import MissingFileError
from prophase.trace.dump import Dump, having
from prophase.trace.reader import Reader, Tables
from prophase.trace.text_table import Sheet

#: base states of Slurm's job table
_STATE = {
    "0": "pending",
    "1": "running",
    "2": "running",
    "3": "completed",
    "4": "cancelled",
    "5": "failed",
    "6": "timeout",
    "7": "node_fail",
    "8": "preempted",
    "9": "node_fail",
    "10": "timeout",
    "11": "oom",
}
_NO_LIMIT = 4294967295.0
_NOT_AN_ARRAY = 4294967294.0
#: anything above carries Slurm's mark for memory per CPU
_PER_CPU_MARK = 2.0**62
#: 2021-02-09 00:00 UTC: the first whole day with GPU counts
_GPUS_RECORDED_FROM_S = 1612828800.0
_GIB_PER_MB = 1 / 1024.0
_GIB_PER_KIB = 1 / 2**20


def _read(dump: Dump) -> Tables:
    found = dump.find("*.csv")
    jobs = having(found, "id_job", "tres_req")
    series = having(found, "Step", "Node", "EpochTime", "CPUUtilization")
    tables: Tables = {}
    if jobs:
        tables["jobs"] = _jobs(dump.sheet(jobs[0]))
        dump.note(
            "GPUs were not yet recorded before 2021-02-09: a job without a count has request_gpus "
            "missing there, and 0 from then on."
        )
    if series:
        tables["usage"] = _usage(dump.sheet(series[0]))
    if not tables:
        raise MissingFileError(
            f"{dump.root}: holds neither a Slurm log (columns id_job, tres_req) nor a CPU series "
            "(columns Step, Node, EpochTime). Point to the folder of the Supercloud files."
        )
    return tables


def _jobs(sheet: Sheet) -> ibis.Table:
    submit = sheet.number("time_submit")
    memory, limit = sheet.number("mem_req"), sheet.number("timelimit")
    array_task = sheet.number("id_array_task")
    in_array = array_task != _NOT_AN_ARRAY
    nodes = _requested(sheet, "4").fill_null(1.0)
    gpus = _requested(sheet, "1002")
    none = ibis.null("float64")
    return sheet.select(
        job_id=sheet.text("id_job"),
        parent_id=in_array.ifelse(sheet.text("id_array_job"), ibis.null("string")),
        user=sheet.text("id_user"),
        queue=sheet.text("partition"),
        workload=sheet.text("job_type"),
        submit_s=submit,
        # a start or end of 0 is Slurm's word for "not yet"
        start_s=sheet.number("time_start").nullif(0.0),
        end_s=sheet.number("time_end").nullif(0.0),
        status=sheet.text("state").cases(*_STATE.items(), else_="unknown"),
        instances=nodes,
        gang_size=nodes,
        request_cpu_cores=ibis.coalesce(_requested(sheet, "1"), sheet.number("cpus_req")) / nodes,
        request_memory_gib=ibis.coalesce(
            _requested(sheet, "2") / nodes, (memory < _PER_CPU_MARK).ifelse(memory, none)
        )
        * _GIB_PER_MB,
        request_gpus=ibis.coalesce(
            gpus / nodes, (submit >= _GPUS_RECORDED_FROM_S).ifelse(0.0, none)
        ),
        time_limit_s=(limit < _NO_LIMIT).ifelse(limit * 60.0, none),
        # Slurm keeps the last priority, which grew while the job waited
        after_priority_final=sheet.number("priority"),
        attr_constraints=sheet.text("constraints"),
        attr_array_task=in_array.ifelse(array_task, none),
        after_eligible_delay_s=sheet.number("time_eligible") - submit,
        after_node=sheet.text("nodelist").re_replace(r"[\[\]' ]", ""),
        after_nodes=sheet.number("nodes_alloc"),
        after_exit=sheet.number("exit_code"),
    )


def _requested(sheet: Sheet, resource: str) -> ibis.Value:
    """Return one amount of tres_req, such as 20 of resource 1 in ``1=20,2=170000,4=1``."""
    listed = ibis.literal(",") + sheet.text("tres_req")
    return listed.re_extract(f",{resource}=([0-9]+)", 1).try_cast("float64")


def _usage(sheet: Sheet) -> ibis.Table:
    step_s = _step(sheet)
    step, node, series = (sheet.text(name) for name in ("Step", "Node", "Series"))
    return sheet.select(
        series_id=ibis.literal("step ") + step + "/" + node + "/" + series,
        time_s=sheet.number("EpochTime"),
        cpu_cores=sheet.number("CPUUtilization", factor=0.01),
        memory_gib=sheet.number("RSS", factor=_GIB_PER_KIB),
        virtual_memory_gib=sheet.number("VMSize", factor=_GIB_PER_KIB),
        cpu_frequency_mhz=sheet.number("CPUFrequency"),
        # megabytes of a million bytes, counted since the sample before
        read_bytes_per_s=sheet.number("ReadMB", factor=1e6) / step_s,
        write_bytes_per_s=sheet.number("WriteMB", factor=1e6) / step_s,
    )


def _step(sheet: Sheet) -> ibis.Value:
    """Return the seconds since the sample before; missing for the first of a series."""
    elapsed = sheet.number("ElapsedTime")
    series = ibis.window(
        group_by=[sheet.text(name) for name in ("Step", "Node", "Series")], order_by=elapsed
    )
    return (elapsed - elapsed.lag().over(series)).nullif(0.0)


READER = Reader(
    name="mit-supercloud",
    aliases=("mit",),
    title="MIT Supercloud (2021): Slurm job table and CPU series of single jobs",
    fills={
        "jobs": (
            "job_id parent_id user queue workload submit_s start_s end_s duration_s wait_s status "
            "instances gang_size request_cpu_cores request_memory_gib request_gpus time_limit_s "
            "attr_constraints attr_array_task after_priority_final after_eligible_delay_s "
            "after_node after_nodes after_exit"
        ).split(),
        "usage": (
            "series_id time_s cpu_cores memory_gib virtual_memory_gib cpu_frequency_mhz "
            "read_bytes_per_s write_bytes_per_s"
        ).split(),
    },
    cannot="memory and CPU use per job, GPU use; ids may be rounded, so a job may lack its series",
    read=_read,
    patterns=("*.csv",),
    signature=("id_job", "id_user", "time_submit", "time_eligible", "tres_req", "nodes_alloc"),
    clock="unix",
)
