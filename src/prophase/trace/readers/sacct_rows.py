"""The lines of a sacct dump, each text parsed; jobs and steps are still rows of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import ibis

from prophase.trace.dump import Dump
from prophase.trace.readers import sacct_cells as slurm
from prophase.trace.row_rules import REPAIRED
from prophase.trace.text_formats import elapsed_s, instant_s
from prophase.trace.text_table import Sheet

#: the dump that has everything this reader wants; ``-X`` would leave out the steps
DUMP_COMMAND = "sacct -aDP -S now-30days -o ALL > sacct.txt"
_NO_LIMIT = ("UNLIMITED", "Partition_Limit", "INVALID", "NOT_SET")
#: sacct's name (in lower case) -> ours, for what is known when the job is submitted
AT_SUBMIT = {
    "cluster": "attr_cluster",
    "comment": "attr_comment",
    "constraints": "attr_constraint",
    "gid": "attr_gid",
    "group": "attr_unix_group",
    "licenses": "attr_licenses",
    "qos": "attr_qos",
    "reqgres": "attr_req_gres",
    "reservation": "attr_reservation",
    "submitline": "attr_submit_line",
    "uid": "attr_uid",
    "wckey": "attr_wckey",
    "workdir": "attr_workdir",
}
AFTERWARDS = {
    "alloctres": "after_alloc_tres",
    # its parts are the requests; whole, it would be one more thing to know of a new job
    "reqtres": "after_req_tres",
    "exitcode": "after_exit_code",
    "nodelist": "after_nodes",
}
#: columns that the job table holds in another form
_TAKEN = set(
    "jobid jobidraw jobname user account partition submit eligible start end elapsed elapsedraw "
    "state timelimit timelimitraw reqcpus reqnodes reqmem nnodes allocnodes ncpus alloccpus "
    "maxrss totalcpu usercpu systemcpu cputime cputimeraw maxdiskread maxdiskwrite avediskread "
    "avediskwrite ntasks tresusageinave tresusageinmax priority dbindex".split()
)


@dataclass
class _Columns:
    """The columns of one dump by sacct's names, whatever their case, each read once."""

    sheet: Sheet
    names: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = {name.lower(): name for name in self.sheet.columns}

    def has(self, *names: str) -> bool:
        return any(name in self.names for name in names)

    def text(self, *names: str) -> ibis.Value:
        """Return the first of these columns that has a value."""
        held = [self.sheet.text(self.names[name]) for name in names if name in self.names]
        return ibis.coalesce(*held) if held else ibis.null("string")

    def number(self, name: str) -> ibis.Value:
        held = name in self.names
        return self.sheet.number(self.names[name]) if held else ibis.null("float64")

    def parsed(
        self,
        name: str,
        parse: Callable[[ibis.Value], ibis.Value],
        what: str,
        allowed: Sequence[str] = (),
    ) -> ibis.Value:
        """Return a column put through ``parse``; what does not parse makes a bad row."""
        if name not in self.names:
            return ibis.null("float64")
        return self.sheet.parsed(self.names[name], parse, what, allowed=allowed)


def parsed_rows(dump: Dump, sheet: Sheet) -> ibis.Table:
    """Return one row per line: what the job table holds, and helpers that start with ``_``.

    ``_is_step`` marks step rows, ``_key`` names the job a row belongs to, and ``_cpu_s``,
    ``_memory_peak_gib`` ... are what Slurm measured in this row.
    """
    columns = _Columns(sheet)
    identity = columns.text("jobid", "jobidraw")
    of_job = identity.re_replace(r"[.].*$", "")
    # attempts of a requeued job share its id; the number of their record is on their steps, too
    record = ibis.coalesce(columns.text("dbindex"), of_job)
    parent = of_job.re_extract(r"^([0-9]+)[_+]", 1).nullif("")
    state = slurm.status(columns.text("state"))
    ended = ~state.isin(["running", "pending"])
    never = ibis.null("float64")
    start = columns.parsed("start", instant_s, "a time")
    end = columns.parsed("end", instant_s, "a time")
    elapsed = ibis.coalesce(
        columns.number("elapsedraw"), columns.parsed("elapsed", elapsed_s, "a time span")
    )
    limit = ibis.coalesce(
        columns.parsed("timelimit", elapsed_s, "a time span", _NO_LIMIT),
        _minutes(columns.text("timelimitraw")),
    )
    return sheet.select(
        job_id=identity,
        parent_id=parent,
        name=columns.text("jobname"),
        user=columns.text("user", "uid"),
        group=columns.text("account"),
        queue=columns.text("partition"),
        submit_s=columns.parsed("submit", instant_s, "a time"),
        # Slurm fills in the expected start of jobs that still wait
        start_s=(state == "pending").ifelse(never, start),
        end_s=ended.ifelse(end, never),
        duration_s=ended.ifelse(ibis.coalesce(end - start, elapsed), never),
        status=state,
        # tells of a job that still runs when the dump was taken
        after_elapsed_s=ended.ifelse(never, elapsed),
        **_requests(dump, columns),
        time_limit_s=limit,
        after_eligible_s=columns.parsed("eligible", instant_s, "a time"),
        after_priority=columns.number("priority"),
        **_measured(columns, elapsed),
        _oom=(state == "oom").cast("float64"),
        **_others(columns),
        attr_features=slurm.features(columns.text("constraints")),
        _key=columns.text("cluster").fill_null("") + ibis.literal("/") + record,
        _is_step=identity.contains("."),
    )


def _minutes(text: ibis.Value) -> ibis.Value:
    return text.try_cast("float64") * 60.0


def _requests(dump: Dump, columns: _Columns) -> dict[str, ibis.Value]:
    """Return what the job asked for, per node; what was allocated stands in if need be."""
    asked, given = columns.text("reqtres"), columns.text("alloctres")
    allocated_cpus = ibis.coalesce(columns.number("ncpus"), columns.number("alloccpus"))
    allocated_nodes = ibis.coalesce(columns.number("nnodes"), columns.number("allocnodes"))
    wanted_nodes = ibis.coalesce(
        columns.number("reqnodes").nullif(0.0), slurm.tres_number(asked, "node"), allocated_nodes
    )
    # -n 16 without -N asks for at least one node and gets as many as it takes
    given_nodes = slurm.tres_number(given, "node")
    nodes = ibis.coalesce(given_nodes, wanted_nodes, ibis.literal(1.0)).clip(lower=1.0)
    cpus = ibis.coalesce(
        columns.number("reqcpus"), slurm.tres_number(asked, "cpu"), allocated_cpus
    ).nullif(0.0)
    for what, names in (("CPUs", ("reqcpus", "reqtres")), ("nodes", ("reqnodes", "reqtres"))):
        if not columns.has(*names):
            dump.note(
                f"The dump does not say how many {what} were asked for: allocated ones count."
            )
    memory = slurm.requested_memory(columns.text("reqmem"))
    columns.sheet.bad_if(memory.broken, "ReqMem is not an amount of memory")
    per_node = ibis.coalesce(
        memory.per_node,
        memory.per_cpu * cpus / nodes,
        # more nodes than asked for hold more memory than asked for in all
        (given_nodes > wanted_nodes).ifelse(
            slurm.tres_gib(given).nullif(0.0) / nodes, ibis.null("float64")
        ),
        memory.of_job / nodes,
        slurm.tres_gib(asked) / nodes,
    )
    gres = columns.text("reqgres")
    unknown = given.isnull().ifelse(ibis.null("float64"), 0.0)
    none = ibis.literal(0.0) if columns.has("reqtres", "reqgres") else unknown
    # Slurm before 20.11 leaves GPUs out of ReqTRES, but gives a job only those it asked for
    gpus = ibis.coalesce(
        slurm.tres_gpus(asked) / nodes,
        slurm.gres_gpus(gres),
        slurm.tres_gpus(given) / nodes,
        none,
    )
    return {
        "instances": nodes,
        "request_cpu_cores": cpus / nodes,
        "request_memory_gib": per_node,
        "request_gpus": gpus,
        "gpu_type": ibis.coalesce(slurm.tres_gpu_type(asked), slurm.gres_gpu_type(gres)),
        "after_alloc_cpu_cores": allocated_cpus,
        "after_alloc_nodes": allocated_nodes,
        f"{REPAIRED}per-CPU mark taken out of ReqMem": memory.unfolded.fill_null(False),
    }


def _measured(columns: _Columns, elapsed: ibis.Value) -> dict[str, ibis.Value]:
    """Return what Slurm measured in this row; most of it stands in step rows only."""
    span = "a time span"
    both = columns.parsed("usercpu", elapsed_s, span) + columns.parsed("systemcpu", elapsed_s, span)
    used = ibis.coalesce(columns.parsed("totalcpu", elapsed_s, span), both)
    tasks = columns.number("ntasks")
    amount = "an amount of memory"

    def moved(direction: str) -> ibis.Value:
        mean = columns.parsed(f"avedisk{direction}", slurm.gib, amount) * tasks
        return ibis.coalesce(mean, columns.parsed(f"maxdisk{direction}", slurm.gib, amount)) * 2**30

    mean, peak = columns.text("tresusageinave"), columns.text("tresusageinmax")
    return {
        "_elapsed_s": elapsed,
        "_cpu_s": used.nullif(0.0),
        # Slurm writes 0 where it took no sample
        "_memory_peak_gib": columns.parsed("maxrss", slurm.gib, amount).nullif(0.0),
        "_read_bytes": moved("read"),
        "_write_bytes": moved("write"),
        "_gpu_util_pct": slurm.tres_number(mean, "gres/gpuutil"),
        "_gpu_memory_gib": slurm.tres_gib(peak, "gres/gpumem").nullif(0.0),
    }


def _others(columns: _Columns) -> dict[str, ibis.Value]:
    """Keep every other column; unless it is known to be known at submission, as after_*."""
    named = {**AT_SUBMIT, **AFTERWARDS}
    return {
        named.get(lower, "after_" + re.sub(r"[^a-z0-9_]+", "_", lower)): columns.text(lower)
        for lower in columns.names
        if lower not in _TAKEN and not lower.startswith(("_end", "column_"))
    }
