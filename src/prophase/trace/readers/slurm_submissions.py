"""The submission side of a Slurm experiment: what each job asks for and how long it runs.

The format is that of the UB CCR Slurm simulator's workloads: ``;`` separated, ``dt`` in
seconds after the first job, ``wall_limit`` in minutes, ``mem`` in MB per node, ``gres``
per node. A ``wall_time`` of -1 is a job that runs until its limit ends it. Tables of this
kind have no outcome: no start, no state.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump
from prophase.trace.files import SourceFile
from prophase.trace.readers import slurm_text as slurm
from prophase.trace.rules import REPAIRED

#: what gives such a file away
COLUMNS = ("dt", "job_id", "wall_time", "wall_limit", "n_tasks")


def jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    """Return one row per submission; an instance is a node of the job."""
    sheet = dump.sheet(file, separator=";")

    def text(name: str) -> ibis.Value:
        return sheet.text(name) if sheet.has(name) else ibis.null("string")

    tasks = sheet.number("n_tasks")
    per_node = sheet.number("ntasks_per_node") if sheet.has("ntasks_per_node") else tasks
    nodes = (tasks / per_node.nullif(0.0)).ceil().cast("float64").fill_null(1.0)
    gres = text("gres")
    run_s, limit_s = sheet.number("wall_time"), sheet.number("wall_limit", factor=60.0)
    endless = run_s < 0
    return sheet.select(
        job_id=sheet.text("job_id"),
        user=text("user"),
        group=text("account"),
        queue=text("partition"),
        submit_s=sheet.number("dt"),
        duration_s=endless.ifelse(limit_s, run_s),
        instances=nodes,
        request_cpu_cores=tasks / nodes,
        request_memory_gib=slurm.gib(text("mem"), plain="M"),
        request_gpus=slurm.gres_gpus(gres).fill_null(0.0),
        gpu_type=slurm.gres_gpu_type(gres),
        time_limit_s=limit_s,
        attr_qos=text("qos"),
        attr_constraint=text("constraint"),
        **{f"{REPAIRED}wall_time -1, runs until its limit": endless.fill_null(False)},
    )
