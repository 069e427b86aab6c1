"""Alibaba PAI GPU cluster trace 2020: the seven raw tables, or a joined sample of them.

Source: Weng et al., "MLaaS in the Wild", NSDI 2022. One row per job, task and
worker. ``inst_id`` names a job, not an instance: joining sensors on it alone
multiplies rows, so the sensor key is (inst_id, worker_name).
"""

from __future__ import annotations

from collections.abc import Sequence

import ibis

from prophase.errors import FanOutError, MissingFileError
from prophase.trace.dump import Dump, column_words, header_of
from prophase.trace.reader import ColumnMaker, Reader, SourceTable, Tables, number, text
from prophase.trace.source_files import SourceFile, first_lines
from prophase.trace.text_table import REASON, Sheet

#: columns of the header-less tables, as their .header files name them
HEADERS = {
    "job": "job_name inst_id user status start_time end_time",
    "task": "job_name task_name inst_num status start_time end_time plan_cpu plan_mem plan_gpu "
    "gpu_type",
    "instance": "job_name task_name inst_name worker_name inst_id status start_time end_time "
    "machine",
    "sensor": "job_name task_name worker_name inst_id machine gpu_name cpu_usage gpu_wrk_util "
    "avg_mem max_mem avg_gpu_wrk_mem max_gpu_wrk_mem read write read_count write_count",
    "group_tag": "inst_id user gpu_type_spec group workload",
    "machine_spec": "machine gpu_type cap_cpu cap_mem cap_gpu",
    "machine_metric": "worker_name machine start_time end_time machine_cpu_iowait "
    "machine_cpu_kernel machine_cpu_usr machine_gpu machine_load_1 machine_net_receive "
    "machine_num_worker machine_cpu",
}
_STATUS = {
    "Terminated": "completed",
    "Failed": "failed",
    "Running": "running",
    "Waiting": "pending",
    "Interrupted": "preempted",
}
_SENSORS = ("cpu_usage", "gpu_wrk_util", "avg_mem", "max_mem", "avg_gpu_wrk_mem",
            "max_gpu_wrk_mem", "read", "write", "read_count", "write_count")  # fmt: skip
#: inst_id names a job; only with the worker's name it names a row of the sensor table
_WORKER = ("inst_id", "worker_name")
#: the same in the job table
_NAMED = ("parent_id", "job_id")
#: as they are, or added up per worker
_SENSOR_TABLES = ("sensor", "sensor_by_worker")
_MACHINE_METRICS = HEADERS["machine_metric"].split()[4:]
_PLANS = ("inst_num", "plan_cpu", "plan_mem", "plan_gpu")
#: plans and use come in percent of a core or GPU
_PERCENT = 0.01
#: how an instance, or a row of the joined sample, ended and when
_ENDING = {
    "inst_status": text("status"),
    "inst_start": number("start_time"),
    "inst_end": number("end_time"),
}
#: table -> what is taken of it
_TAKEN: dict[str, dict[str, ColumnMaker]] = {
    "instance": {
        **{n: text(n) for n in "job_name task_name worker_name inst_name inst_id machine".split()},
        **_ENDING,
    },
    "task": {
        **{name: text(name) for name in ("job_name", "task_name")},
        **{name: number(name) for name in _PLANS},
    },
    "job": {
        **{name: text(name) for name in ("job_name", "inst_id", "user")},
        "submit": number("start_time"),
    },
    "group_tag": {n: text(n) for n in "inst_id gpu_type_spec group workload".split()},
    "sensor": {
        **{name: text(name) for name in (*_WORKER, "gpu_name")},
        **{name: number(name) for name in _SENSORS},
    },
    "machine_metric": {
        "worker_name": text("worker_name"),
        **{name: number(name) for name in _MACHINE_METRICS},
    },
    "machine_spec": {"machine": text("machine"), "machine_gpu_type": text("gpu_type")},
}


def _read(dump: Dump) -> Tables:
    machines = _open(dump, "machine_spec")
    tables: Tables = {} if machines is None else {"nodes": _nodes(machines)}
    sample = _joined_sample(dump)
    if sample is not None:
        return {"jobs": _jobs_of_sample(sample), **tables}
    instances = _columns(dump, "instance")
    if instances is None:
        if tables:
            return tables
        raise MissingFileError(
            f"{dump.root}: holds no pai_instance_table (csv, .gz or .tar.gz) and no joined sample. "
            "Fetch the trace with: prophase fetch pai2020"
        )
    return {"jobs": _jobs(_joined_all(dump, instances)), **tables}


def _table_file(dump: Dump, table: str) -> SourceFile | None:
    patterns = (f"pai_{table}.csv", f"pai_{table}_table.csv", f"{table}.csv")
    found = [f for f in dump.find(*patterns, required=False) if f.stem.startswith("pai_" + table)]
    return found[0] if found else None


def _open(dump: Dump, table: str) -> Sheet | None:
    """Open one of the seven tables; its columns come from its .header file, or from above."""
    file = _table_file(dump, table)
    if file is None:
        return None
    wanted = HEADERS[table].split()
    beside = dump.find(f"{file.stem}.header", required=False)
    beside = [header for header in beside if header.name.endswith(".header")]
    columns: Sequence[str] = header_of(beside[0]) if beside else wanted
    own_header = set(first_lines(file.path, 1)[0].split(",")) >= {wanted[0], wanted[1]}
    sheet = dump.sheet(file) if own_header else dump.sheet(file, columns=columns)
    sheet.need(*wanted)
    return sheet


def _nodes(sheet: Sheet) -> ibis.Table:
    kind = sheet.text("gpu_type")
    gpus = sheet.number("cap_gpu")
    return sheet.select(
        node_id=sheet.text("machine"),
        cpu_cores=sheet.number("cap_cpu"),
        memory_gib=sheet.number("cap_mem"),
        gpus=gpus,
        gpu_type=(gpus > 0).ifelse(kind, ibis.null("string")),
    )


def _columns(dump: Dump, table: str) -> ibis.Table | None:
    """Return what is taken of one of the seven tables, if the dump holds it."""
    sheet = _open(dump, table)
    return None if sheet is None else SourceTable(table, (), _TAKEN[table]).read(sheet)


def _joined_all(dump: Dump, instances: ibis.Table) -> ibis.Table:
    """Join the raw tables onto the instance table, each by a key that is proven unique."""
    # the largest first: what does not fit in memory has few columns on its way to the disk
    rows = _with_sensors(dump, instances)
    tasks, task_key = _tasks_with_their_job(dump), ("job_name", "task_name")
    rows = _joined(dump, rows, tasks, task_key, "task", ("parent_id", "task"))
    metrics = _columns(dump, "machine_metric")
    rows = _joined(dump, rows, metrics, ("worker_name",), "machine_metric", ("job_id",))
    # a machine without a job is no orphan
    return _joined(dump, rows, _columns(dump, "machine_spec"), ("machine",), "machine_spec")


def _tasks_with_their_job(dump: Dump) -> ibis.Table | None:
    """Join job and group onto the task table first: ten times fewer rows than instances."""
    tasks = _columns(dump, "task")
    if tasks is None:
        return None
    jobs = _columns(dump, "job")
    tasks = _joined(dump, tasks, jobs, ("job_name",), "job", tasks)
    if "inst_id" not in tasks.columns:
        return tasks
    groups = _columns(dump, "group_tag")
    return _joined(dump, tasks, groups, ("inst_id",), "group_tag", jobs).drop("inst_id")


def _joined(
    dump: Dump, rows: ibis.Table, table: ibis.Table | None, keys: Sequence[str], name: str,
    owners: ibis.Table | Sequence[str] | None = None,
) -> ibis.Table:  # fmt: skip
    """Join a table, and count its rows that belong to none of the ``owners``."""
    if table is None:
        dump.note(f"pai_{name} is not in the dump: its columns stay missing.")
        return rows
    return dump.join_one(rows, table, keys, name=name, owners=owners)


def _with_sensors(dump: Dump, rows: ibis.Table) -> ibis.Table:
    """Join sensors per worker; one with several GPUs has a row per GPU, which are added up."""
    sensors = _columns(dump, "sensor")
    per_row = None if sensors is None else sensors.drop("gpu_name")
    try:
        return _joined(dump, rows, per_row, _WORKER, "sensor", _NAMED)
    except FanOutError:
        if sensors is None or dump.repeats(sensors, [*_WORKER, "gpu_name"]).values:
            raise
    dump.note("pai_sensor_table has a row per GPU: the GPU use of a worker was added up.")
    per_worker = sensors.group_by(list(_WORKER)).agg(
        **{
            name: sensors[name].sum() if "gpu" in name else sensors[name].max() for name in _SENSORS
        },
        **{REASON: sensors[REASON].max()},
    )
    return _joined(dump, rows, per_worker, _WORKER, "sensor_by_worker", _NAMED)


def _jobs(rows: ibis.Table) -> ibis.Table:
    """Name and scale the joined columns as the job table has them."""

    def column(name: str, kind: str = "float64") -> ibis.Value:
        return rows[name] if name in rows.columns else ibis.null(kind)

    found = [f"_joined_{name}" for name in ("job", "group_tag", "task", *_SENSOR_TABLES)]
    others = [name for name in rows.columns if name.startswith(("_joined_", REASON))]
    kept = {name: rows[name] for name in dict.fromkeys([*found, *others]) if name in rows.columns}
    metrics = {f"after_{name}": rows[name] for name in _MACHINE_METRICS if name in rows.columns}
    status = rows.inst_status.cases(*_STATUS.items(), else_="unknown")
    row_name = ibis.coalesce(
        rows.worker_name, rows.job_name + "/" + rows.task_name + "/" + rows.inst_name
    )
    return rows.select(
        job_id=row_name,
        parent_id=rows.job_name,
        user=column("user", "string"),
        group=column("group", "string"),
        workload=column("workload", "string"),
        task=rows.task_name,
        submit_s=column("submit"),
        start_s=rows.inst_start,
        end_s=rows.inst_end,
        status=status,
        instances=ibis.literal(1).cast("float64"),
        gang_size=column("inst_num"),
        request_cpu_cores=column("plan_cpu") * _PERCENT,
        request_memory_gib=column("plan_mem"),
        request_gpus=column("plan_gpu") * _PERCENT,
        gpu_type=column("gpu_type_spec", "string"),
        cpu_mean_cores=column("cpu_usage") * _PERCENT,
        memory_mean_gib=column("avg_mem"),
        memory_peak_gib=column("max_mem"),
        gpu_util_mean_pct=column("gpu_wrk_util"),
        gpu_memory_mean_gib=column("avg_gpu_wrk_mem"),
        gpu_memory_peak_gib=column("max_gpu_wrk_mem"),
        read_bytes=column("read"),
        write_bytes=column("write"),
        read_count=column("read_count"),
        write_count=column("write_count"),
        after_node=column("machine", "string"),
        after_gpu_type=column("machine_gpu_type", "string"),
        **metrics,
        **kept,
    )


def _joined_sample(dump: Dump) -> Sheet | None:
    """Return a CSV that already joins task, instance, sensor and group, if there is one."""
    for file in dump.find("*sample*.csv", required=False):
        if {"job_name", "worker_name", "plan_gpu", "cpu_usage"} <= set(column_words(file.path)):
            return dump.sheet(file)
    return None


def _jobs_of_sample(sheet: Sheet) -> ibis.Table:
    words = ("user", "group", "workload", *_TAKEN["instance"])
    assigned = "gpu_type_machine_spec" if sheet.has("gpu_type_machine_spec") else "gpu_type"
    taken: dict[str, ColumnMaker] = {
        **{name: text(name, optional=True) for name in words if name not in _ENDING},
        **{name: number(name, optional=True) for name in (*_PLANS, *_SENSORS)},
        **_ENDING,
        "machine_gpu_type": text(assigned),
    }
    return _jobs(SourceTable("sample", (), taken).read(sheet))


READER = Reader(
    name="pai2020",
    title="Alibaba PAI GPU cluster trace 2020: raw tables or the joined sample",
    fills={
        "jobs": (
            "job_id parent_id user group workload task submit_s start_s end_s duration_s wait_s "
            "status instances gang_size request_cpu_cores request_memory_gib request_gpus "
            "gpu_type cpu_mean_cores memory_mean_gib memory_peak_gib gpu_util_mean_pct "
            "gpu_memory_mean_gib gpu_memory_peak_gib read_bytes write_bytes read_count "
            "write_count after_node after_gpu_type "
            + " ".join(f"after_{name}" for name in _MACHINE_METRICS)
        ).split(),
        "nodes": "node_id cpu_cores memory_gib gpus gpu_type".split(),
    },
    cannot="queues, priorities and time limits; the joined sample has no submit times",
    read=_read,
    patterns=("pai_*.csv", "*sample*.csv"),
    signature=("job_name", "task_name", "inst_id", "plan_gpu"),
    # a hidden zero, but hours of the day and weekdays are right in China
    clock="utc+8",
)
