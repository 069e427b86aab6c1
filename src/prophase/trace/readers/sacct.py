"""Slurm accounting: dumps of ``sacct -P`` or ``-p`` with any choice of columns.

An instance is a node of the job: requests are per node, and ``instances`` times the
request is the job's total. Step rows (123.batch, 123.0) are folded into their job.

``memory_peak_gib`` is the largest MaxRSS of the job's steps. MaxRSS belongs to the one
task that used most, so a node with several tasks may have used more; multiplying by the
number of tasks is wrong the other way, because tasks do not peak alike or together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import ibis

from prophase.errors import FormatError, ParameterError, storage_errors
from prophase.plural import counted
from prophase.trace.dump import Dump, having, header_of, stack
from prophase.trace.reader import Reader, Tables
from prophase.trace.readers import slurm_submissions as submissions
from prophase.trace.readers.sacct_json import (
    BEGINNING,
    SEPARATOR,
    file_rows,
    is_json,
    write_dump,
)
from prophase.trace.readers.sacct_rows import AFTERWARDS, AT_SUBMIT, DUMP_COMMAND, parsed_rows
from prophase.trace.readers.slurm_conf import (
    SlurmConf,
    describes_nodes,
    nodes_table,
    read_conf,
)
from prophase.trace.source_files import SourceFile, first_lines
from prophase.trace.text_table import MISSING_WORDS, REASON, Sheet

#: columns of dumps without a header, by their number: Open XDMoD's way to call sacct
LAYOUTS = {
    26: (
        "JobID JobIDRaw Cluster Partition QOS Account Group GID User UID Submit Eligible Start "
        "End Elapsed ExitCode State NNodes NCPUS ReqCPUS ReqMem ReqTRES AllocTRES Timelimit "
        "NodeList JobName"
    ).split()
}
_SEPARATORS = "|\t;^~,"
#: what is measured in step rows, and how the steps of a job come together
_FOLDED = {
    "_cpu_s": "sum",
    "_memory_peak_gib": "max",
    "_read_bytes": "sum",
    "_write_bytes": "sum",
    "_gpu_util_pct": "max",
    "_gpu_memory_gib": "max",
    "_oom": "max",
}


def _read(dump: Dump) -> Tables:
    found = dump.find(*READER.patterns, signature=READER.signature)
    settings = [file for file in found if describes_nodes(file.path)]
    asked = having(found, *submissions.COLUMNS)
    dumps = [file for file in found if file not in [*asked, *settings]]
    conf = read_conf([file.path for file in settings])
    tables = {"nodes": nodes_table(dump, settings, conf)} if settings else {}
    if dumps and all(map(is_json, dumps)):
        dump.clock = "unix"
    if dumps:
        rows = stack(
            [
                parsed_rows(dump, _open(dump, file)).mutate(_file=ibis.literal(place))
                for place, file in enumerate(dumps)
            ]
        )
        # parsing costs most, and the rows are looked at several times
        rows = dump.materialised(rows, "sacct-rows")
        tables["jobs"] = _jobs(dump, _told_once(rows) if len(dumps) > 1 else rows)
    if asked:
        tables |= _with_submissions(dump, tables.get("jobs"), asked, conf)
    return tables


def _told_once(rows: ibis.Table) -> ibis.Table:
    """Leave out what a later file tells again, or more of: dumps of two periods overlap.

    sacct lists whatever was in the queue or ran in a period, so a job over midnight is in two.
    """
    job = [rows._key, rows.job_id, rows.submit_s]
    best = rows._file.first().over(
        ibis.window(group_by=[*job, rows.start_s], order_by=[rows.end_s.isnull(), -rows._file])
    )
    started = rows.start_s.notnull().ifelse(rows._file, None)
    all_of = ibis.window(group_by=job)
    elsewhere = (started.min().over(all_of) != rows._file) | (
        started.max().over(all_of) != rows._file
    )
    again = (rows._file != best) | (rows.start_s.isnull() & elsewhere.fill_null(False))
    again = again & rows.submit_s.notnull()
    reason = again.ifelse("in another file of the dump, too", ibis.null("string"))
    return rows.mutate(**{REASON: ibis.coalesce(rows[REASON], reason)})


def _with_submissions(
    dump: Dump, jobs: ibis.Table | None, files: Sequence[SourceFile], conf: SlurmConf
) -> Tables:
    """Add the jobs that were submitted but have no outcome in the dump."""
    asked = stack([submissions.jobs(dump, file) for file in files])
    if jobs is None:
        dump.clock = "relative"
        dump.note("This is the submission side only: submit_s counts from the first job.")
        return {"jobs": submissions.with_default_memory(dump, asked, conf)}
    joined = submissions.beside_outcomes(dump, jobs, dump.materialised(asked, "asked"), conf)
    if joined is not None:
        return {"jobs": joined}
    dump.note("submissions shares no job_id with the dump: it stays a table of its own.")
    return {"submissions": asked}


def _open(dump: Dump, file: SourceFile) -> Sheet:
    """Open a dump with its header, with the user's column names, or with a known layout."""
    if is_json(file):
        file = _as_dump(dump, file)
    line = first_lines(file.path, 1)[0]
    separator = dump.option("delimiter", "").replace("tab", "\t") or _separator_of(line)
    fields = [word.strip() for word in line.split(separator)]
    has_header = not re.match(r"[0-9]", fields[0])
    columns = [name.strip() for name in dump.option("columns", "").split(",") if name.strip()]
    if has_header and not columns:
        columns = header_of(file, separator)
    elif not columns:
        columns = LAYOUTS.get(len(fields)) or LAYOUTS.get(len(fields) - (fields[-1] == ""), [])
    if not columns:
        raise FormatError(
            f"{file.origin} line 1: there is no header and {len(fields)} fields are no layout "
            "that is known. Name them with --columns JobID,User,..., or dump again without -n."
        )
    if len(columns) == len(fields) - 1 and not fields[-1]:
        columns = [*columns, "_end"]  # sacct -p ends every line with a separator
    if len(columns) != len(fields):
        raise ParameterError(
            f"{file.origin} line 1: {len(columns)} columns are named, but the line has "
            f"{len(fields)} fields. Name each field of the dump once, in order."
        )
    missing = (*MISSING_WORDS, "None assigned")
    if _FREE_TEXT & {name.lower() for name in columns}:
        file = _unbroken(dump, file, separator, columns)
    sheet = dump.sheet(
        file,
        columns=columns,
        separator=separator,
        skip=int(has_header),
        quoted=False,
        missing=missing,
    )
    if not {"jobid", "jobidraw"} & {name.lower() for name in columns}:
        sheet.need("JobID")
    return sheet


#: fields in which users may write line breaks
_FREE_TEXT = {"submitline", "comment"}


def _unbroken(dump: Dump, file: SourceFile, separator: str, columns: Sequence[str]) -> SourceFile:
    """Return the file with one line per row: what users submit may hold line breaks."""
    target = dump.scratch / "unbroken" / file.path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    breaks, wanted = separator.encode(), len(columns) - 1
    # a line with an id in front is a row of its own, even if the one before was cut off
    id_first = columns[0].lower() in ("jobid", "jobidraw")
    begins = re.compile(rb"[0-9]+[^ ]*?" + re.escape(breaks))
    free_end = columns[-1].lower() in _FREE_TEXT
    joined, kept = 0, b""
    with storage_errors(target), file.path.open("rb") as lines, target.open("wb") as out:
        for line in lines:
            whole = kept.count(breaks) >= wanted
            row = id_first and begins.match(line) is not None
            goes_on = not row and (
                not whole or (free_end and id_first and line.count(breaks) < wanted)
            )
            if kept and goes_on:
                kept = kept.rstrip(b"\r\n") + b" " + line
                joined += 1
                continue
            out.write(kept)
            kept = line
        out.write(kept)
    return SourceFile(target, file.origin) if joined else file


def _as_dump(dump: Dump, file: SourceFile) -> SourceFile:
    """Return what ``sacct --json`` wrote as the dump that ``sacct -P`` would have written."""
    target = dump.scratch / "flat" / f"{file.path.name}.txt"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_dump(file_rows(file.path, file.origin), target)
    return SourceFile(target, file.origin)


def _separator_of(line: str) -> str:
    if SEPARATOR in line:
        return SEPARATOR
    return "|" if "|" in line else max(_SEPARATORS, key=line.count)


def _jobs(dump: Dump, rows: ibis.Table) -> ibis.Table:
    """Fold the steps into their jobs and finish the per-instance figures."""
    several = "attr_cluster" in rows.columns
    seen = dump.engine.to_pandas(
        rows.agg(
            steps=rows._is_step.cast("int64").sum(),
            arrays=(rows.job_id.contains("[") & ~rows._is_step).cast("int64").sum(),
            clusters=rows.attr_cluster.nunique() if several else ibis.literal(1),
            measured=rows._memory_peak_gib.count(),
        )
    ).fillna(0)
    steps, arrays, clusters, measured = (
        int(seen[name].iloc[0]) for name in ("steps", "arrays", "clusters", "measured")
    )
    if not measured:
        _note_no_memory(dump, steps)
    if arrays:
        dump.note(
            f"{counted(arrays, 'row stands', 'rows stand')} for array tasks that had not started, "
            "one row per array."
        )
    folded = dict.fromkeys(_FOLDED, ibis.null("float64"))
    if steps:
        rows = dump.join_one(rows, _folded(rows), ["_key"], name="steps")
        _note_lost_steps(dump, rows)
        folded = {name: rows[f"{name}_steps"] for name in _FOLDED}
    if clusters > 1:
        prefix = rows.attr_cluster.fill_null("") + ibis.literal("/")
        rows = rows.mutate(job_id=prefix + rows.job_id, parent_id=prefix + rows.parent_id)
    own = {name: ibis.coalesce(folded[name], rows[name]) for name in _FOLDED}
    # the job's own row already adds up the CPU time of its steps
    cpu_s = ibis.coalesce(rows._cpu_s, folded["_cpu_s"])
    spent = (rows._elapsed_s > 0).ifelse(cpu_s / rows._elapsed_s / rows.instances, None)
    reason = rows._is_step.ifelse("step row, folded into its job", ibis.null("string"))
    # a job that was requeued after a kill is REQUEUED; only its steps still say why
    killed = (rows.status == "preempted") & (own["_oom"] == 1.0)
    return rows.mutate(
        status=killed.fill_null(False).ifelse("oom", rows.status),
        cpu_mean_cores=spent,
        memory_peak_gib=own["_memory_peak_gib"],
        read_bytes=own["_read_bytes"] / rows.instances,
        write_bytes=own["_write_bytes"] / rows.instances,
        gpu_util_mean_pct=own["_gpu_util_pct"],
        gpu_memory_peak_gib=own["_gpu_memory_gib"],
        **{REASON: ibis.coalesce(rows[REASON], reason)},
    )


def _folded(rows: ibis.Table) -> ibis.Table:
    """Return one row per job that has steps, with what they used together."""
    steps = rows.filter(rows._is_step & rows[REASON].isnull())
    return steps.group_by("_key").agg(
        **{f"{name}_steps": getattr(steps[name], how)() for name, how in _FOLDED.items()}
    )


def _note_no_memory(dump: Dump, steps: int) -> None:
    """Say why no job has a memory peak, and what to do."""
    if not steps:
        dump.note(
            "The dump has no step rows (sacct -X leaves them out), and Slurm keeps memory, CPU and "
            f"I/O on them alone: memory cannot be known. Dump again with: {DUMP_COMMAND}"
        )
    else:
        dump.note(
            "No step has a MaxRSS: the dump lacks the column, or the site records none "
            "(JobAcctGatherType=jobacct_gather/cgroup in slurm.conf). Dump again with: "
            f"{DUMP_COMMAND}"
        )


def _note_lost_steps(dump: Dump, rows: ibis.Table) -> None:
    jobs = rows.filter(~rows._is_step).select("_key").distinct()
    steps = rows.filter(rows._is_step).select("_key")
    lost = dump.engine.to_pandas(steps.anti_join(jobs, "_key").agg(rows=ibis._.count()))
    count = int(lost["rows"].iloc[0])
    if count:
        dump.note(f"{count:,} step rows have no job row in the dump; what they used is lost.")


READER = Reader(
    name="sacct",
    title="Slurm accounting, sacct -P or -p with any columns, or sacct --json",
    fills={
        "jobs": (
            "job_id parent_id name user group queue submit_s start_s end_s duration_s wait_s "
            "status instances request_cpu_cores request_memory_gib request_gpus gpu_type "
            "time_limit_s cpu_mean_cores memory_peak_gib gpu_util_mean_pct gpu_memory_peak_gib "
            "read_bytes write_bytes after_elapsed_s after_eligible_s after_priority "
            "after_alloc_cpu_cores after_alloc_nodes attr_features "
            + " ".join([*AT_SUBMIT.values(), *AFTERWARDS.values()])
        ).split(),
        "nodes": (
            "node_id cpu_cores memory_gib gpus gpu_type features attr_switch attr_partitions "
            "attr_weight"
        ).split(),
        "submissions": (
            "job_id user group queue submit_s duration_s instances request_cpu_cores "
            "request_memory_gib request_gpus gpu_type time_limit_s attr_qos attr_constraint "
            "attr_features"
        ).split(),
    },
    cannot="use over time; peaks of several tasks on one node; without DBIndex, steps of requeued "
    "attempts apart",
    read=_read,
    patterns=("*sacct*", "*.psv", "*_acct*", "workload_jobs*.csv", "slurm*.conf", "topology.conf"),
    signature=("JobID", "State"),
    # a table of somebody's own: sacct has no such names
    foreign=r"\S\s+\S",
    also=(submissions.COLUMNS,),
    first_line=(
        r"[0-9][^|]*\|.*\|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\||"
        r"(?i:(#\s*slurm\.conf|ClusterName|SlurmctldHost|ControlMachine|NodeName)\b.*)|" + BEGINNING
    ),
    options={
        "columns": "names of the fields of a dump without a header: JobID,User,...",
        "delimiter": "what separates fields if not |; tab for a tabulator",
    },
    clock="local",
)
