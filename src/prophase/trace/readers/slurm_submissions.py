"""The submission side of a Slurm experiment: what each job asks for and how long it runs.

The format is that of the UB CCR Slurm simulator's workloads: ``;`` separated, ``dt`` in
seconds after the first job, ``wall_limit`` in minutes, ``mem`` in MB per node, ``gres``
per node. A ``wall_time`` of -1 is a job that runs until its limit ends it. Tables of this
kind have no outcome: no start, no state. Beside a dump of sacct they add the jobs whose
outcome is not in it: those jobs took part in the queue all the same.
"""

from __future__ import annotations

import ibis

from prophase.trace.dump import Dump, stack
from prophase.trace.readers import sacct_cells as slurm
from prophase.trace.readers.slurm_conf import SlurmConf
from prophase.trace.row_rules import REPAIRED
from prophase.trace.source_files import SourceFile
from prophase.trace.text_table import REASON

#: what gives such a file away
COLUMNS = ("dt", "job_id", "wall_time", "wall_limit", "n_tasks")


def jobs(dump: Dump, file: SourceFile) -> ibis.Table:
    """Return one row per submission; an instance is a node of the job."""
    sheet = dump.sheet(file, separator=";")
    tasks = sheet.number("n_tasks")
    per_node = sheet.number("ntasks_per_node") if sheet.has("ntasks_per_node") else tasks
    nodes = (tasks / per_node.nullif(0.0)).ceil().cast("float64").fill_null(1.0)
    gres, constraint = (sheet.text(name, optional=True) for name in ("gres", "constraint"))
    run_s, limit_s = sheet.number("wall_time"), sheet.number("wall_limit", factor=60.0)
    endless = run_s < 0
    return sheet.select(
        job_id=sheet.text("job_id"),
        user=sheet.text("user", optional=True),
        group=sheet.text("account", optional=True),
        queue=sheet.text("partition", optional=True),
        submit_s=sheet.number("dt"),
        duration_s=endless.ifelse(limit_s, run_s),
        instances=nodes,
        request_cpu_cores=tasks / nodes,
        request_memory_gib=slurm.gib(sheet.text("mem", optional=True), plain="M"),
        request_gpus=slurm.gres_gpus(gres).fill_null(0.0),
        gpu_type=slurm.gres_gpu_type(gres),
        time_limit_s=limit_s,
        attr_qos=sheet.text("qos", optional=True),
        attr_constraint=constraint,
        attr_features=slurm.features(constraint),
        **{f"{REPAIRED}wall_time -1, runs until its limit": endless.fill_null(False)},
    )


def with_default_memory(dump: Dump, asked: ibis.Table, conf: SlurmConf) -> ibis.Table:
    """Fill in the memory of jobs that named none, if the configuration says what they get."""
    known = {
        name: amount
        for name in conf.partitions
        if (amount := conf.memory_gib_per_cpu(name)) is not None
    }
    if not known:
        return asked
    dump.note("Jobs that name no memory get their partition's DefMemPerCPU.")
    per_cpu = asked.queue.cases(*known.items(), else_=ibis.null("float64"))
    return _filled(asked, per_cpu)


def beside_outcomes(
    dump: Dump, jobs: ibis.Table, asked: ibis.Table, conf: SlurmConf
) -> ibis.Table | None:
    """Return every job of either side, with sacct's record where there is one.

    The clock is sacct's. Jobs that named no memory get what sacct recorded for others of
    their kind, or else what the configuration says. Nothing if no job is in both.
    """
    # a job that asked for no memory has what the cluster gives by default
    both = jobs.filter(jobs[REASON].isnull()).inner_join(
        asked.select("job_id", _asked_s=asked.submit_s, _unsaid=asked.request_memory_gib.isnull()),
        "job_id",
    )
    found = dump.engine.to_pandas(
        both.agg(
            jobs=both.count(),
            shift_s=(both.submit_s - both._asked_s).median(),
            per_cpu_gib=both._unsaid.ifelse(
                both.request_memory_gib / both.request_cpu_cores, ibis.null("float64")
            ).median(),
        )
    ).iloc[0]
    if not found["jobs"]:
        return None
    per_cpu = found["per_cpu_gib"]
    if per_cpu == per_cpu:
        asked = _filled(asked, ibis.literal(float(per_cpu)))
        dump.note(f"Jobs that name no memory get {1024 * per_cpu:,.0f} MB per CPU, as in sacct.")
    else:
        asked = with_default_memory(dump, asked, conf)
    asked = asked.mutate(submit_s=asked.submit_s + float(found["shift_s"]))
    wanted = ["attr_constraint", "attr_features"]
    demanded = asked.select("job_id", **{f"_asked_{name}": asked[name] for name in wanted})
    recorded = dump.join_one(jobs, demanded, ["job_id"], name="submissions")
    recorded = recorded.mutate(
        **{
            name: ibis.coalesce(
                *([recorded[name]] if name in jobs.columns else []), recorded[f"_asked_{name}"]
            )
            for name in wanted
        }
    ).drop(*(f"_asked_{name}" for name in wanted))
    others = asked.anti_join(jobs.filter(jobs[REASON].isnull()), "job_id")
    dump.note("Jobs without an outcome in sacct come from the submissions, run time included.")
    return stack([recorded, others])


def _filled(asked: ibis.Table, per_cpu_gib: ibis.Value) -> ibis.Table:
    given = per_cpu_gib * asked.request_cpu_cores
    return asked.mutate(request_memory_gib=ibis.coalesce(asked.request_memory_gib, given))
