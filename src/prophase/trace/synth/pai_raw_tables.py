"""Write a PAI-like trace as the trace owner publishes the real one: seven header-less tables."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from prophase.errors import InputError, storage_error
from prophase.trace.readers.pai2020 import HEADERS
from prophase.trace.synth.generator import Floats, Ints, hex_names, seeded
from prophase.trace.trace_tables import Trace

#: what the raw files are called
FILES = {
    table: f"pai_{table}" + ("" if table.startswith("machine") else "_table") for table in HEADERS
}
_STATE = {"completed": 0, "failed": 1, "running": 2, "pending": 3}
#: how PAI says it, in the same order; a job is in the last state of its tasks
_STATUS = pa.array(["Terminated", "Failed", "Running", "Waiting"])
_DEVICES = pa.array([None, "/dev/nvidia0", "/dev/nvidia1"])
#: times of the real trace are UTC; its hours and weekdays are right eight hours further east
_OFFSET_S = 8 * 3600.0
#: workers written at a time, so that memory stays bounded
_CHUNK = 250_000
#: spread of log use between the workers of one task
_WORKER_SD = 0.04


def write_raw(
    trace: Trace,
    folder: Path | str,
    *,
    compress: bool = False,
    random_state: int = 0,
    progress: Callable[[float], object] = lambda _: None,
) -> dict[str, int]:
    """Write the seven raw tables and their .header files; return the rows of each.

    Parameters
    ----------
    trace : Trace
        A trace of :func:`make_pai`.
    folder : path
        Made if it is not there. Files of the same names are replaced.
    compress : bool, default=False
        Write each table as .tar.gz, as the originals come.
    progress : callable, optional
        Called with the share that is done, in percent.
    """
    if "parent_id" not in trace.jobs or "after_gpu_type" not in trace.jobs:
        raise InputError(f"the trace ({trace.source}) lacks PAI's columns. Make one with make_pai.")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        rows = _write_tables(trace, folder, seeded(random_state), progress)
        for table, columns in HEADERS.items():
            (folder / f"{FILES[table]}.header").write_text(
                ",".join(columns.split()) + "\n", encoding="ascii"
            )
        if compress:
            for table in HEADERS:
                _into_archive(folder / f"{FILES[table]}.csv")
    except OSError as cause:
        raise storage_error(cause, cause.filename or folder) from cause
    return rows


def _write_tables(
    trace: Trace, folder: Path, rng: np.random.Generator, progress: Callable[[float], object]
) -> dict[str, int]:
    written = dict.fromkeys(HEADERS, 0)
    names = _Names(trace, rng)
    with ExitStack() as stack:
        writers: dict[str, pacsv.CSVWriter] = {}

        def write(table: str, columns: dict[str, object]) -> None:
            part = _arrow(table, columns)
            if table not in writers:
                path = str(folder / f"{FILES[table]}.csv")
                options = pacsv.WriteOptions(include_header=False, quoting_style="none")
                writers[table] = stack.enter_context(
                    pacsv.CSVWriter(path, part.schema, write_options=options)
                )
            writers[table].write_table(part)
            written[table] += part.num_rows

        write("machine_spec", _machine_spec(trace.nodes, names))
        done = 0
        for rows in _chunks(trace.jobs):
            for table, columns in _tables_of(rows, names, rng, written["instance"]):
                write(table, columns)
            done += len(rows)
            progress(100 * done / len(trace.jobs))
    return written


class _Names:
    """Anonymous names of jobs, users, groups and machines."""

    def __init__(self, trace: Trace, rng: np.random.Generator) -> None:
        jobs = _codes(trace.jobs["parent_id"]).max() + 1
        self.job = hex_names(rng, jobs, 24)
        self.job_id = hex_names(rng, jobs, 60)
        self.user = hex_names(rng, int(_codes(trace.jobs["user"]).max()) + 1, 12)
        self.group = hex_names(rng, int(_codes(trace.jobs["group"]).max()) + 1, 32)
        self.machine = hex_names(rng, len(trace.nodes), 24)
        by_type = trace.nodes["gpu_type"].fillna("").to_numpy(dtype=object)
        order = np.argsort(by_type, kind="stable")
        self._by_type = order
        _, begin, count = np.unique(by_type[order], return_index=True, return_counts=True)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self._place = pd.Series(place, index=trace.nodes["node_id"])
        self._begin, self._count = np.repeat(begin, count), np.repeat(count, count)

    def machines_of(self, node: pd.Series, row: Ints, within: Ints) -> pa.Array:
        """Spread a task's workers over nodes of its type, two on each, from its first one on."""
        lead = node.map(self._place)
        place = lead.fillna(0).to_numpy(dtype=np.int64)[row]
        begin, count = self._begin[place], self._count[place]
        spread = begin + (place - begin + within // 2) % count
        names = self.machine.take(pa.array(self._by_type[spread]))
        return pc.if_else(pa.array(lead.notna().to_numpy()[row]), names, None)


def _codes(names: pd.Series) -> Ints:
    """Return the number in names such as ``job-17``."""
    begin = str(names.iloc[0]).index("-") + 1
    digits = pc.utf8_slice_codeunits(pa.array(names), start=begin)
    return np.asarray(pc.cast(digits, pa.int64()))


def _chunks(jobs: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Cut the job table into pieces of whole jobs with a bounded number of workers."""
    workers = np.cumsum(jobs["instances"].to_numpy(dtype=np.int64))
    new_job = (jobs["parent_id"] != jobs["parent_id"].shift()).to_numpy(dtype=bool)
    begin = 0
    while begin < len(jobs):
        before = workers[begin - 1] if begin else 0
        end = max(int(np.searchsorted(workers, before + _CHUNK)), begin + 1)
        while end < len(jobs) and not new_job[end]:
            end += 1
        yield jobs.iloc[begin:end].reset_index(drop=True)
        begin = end


def _tables_of(
    rows: pd.DataFrame, names: _Names, rng: np.random.Generator, first: int
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the raw tables of some whole jobs."""
    job = _codes(rows["parent_id"])
    lead = np.flatnonzero(np.diff(job, prepend=-1))
    state: Ints = np.asarray(rows["status"].map(_STATE), dtype=np.int64)
    submit, start, end = (
        rows[name].to_numpy(dtype=float) - _OFFSET_S for name in ("submit_s", "start_s", "end_s")
    )
    keys = pa.array(job)
    job_name, job_id = names.job.take(keys), names.job_id.take(keys)
    of_job = {
        "job_name": job_name.take(pa.array(lead)),
        "inst_id": job_id.take(pa.array(lead)),
        "user": names.user.take(pa.array(_codes(rows["user"])[lead])),
    }
    yield "job", {
        **of_job, "status": _STATUS.take(pa.array(np.maximum.reduceat(state, lead))),
        "start_time": submit[lead], "end_time": np.maximum.reduceat(end, lead),
    }  # fmt: skip
    demanded = rows["gpu_type"].groupby(job, sort=False).first()
    yield "group_tag", {
        **of_job, "gpu_type_spec": demanded,
        "group": names.group.take(pa.array(_codes(rows["group"])[lead])),
        "workload": rows["workload"].iloc[lead],
    }  # fmt: skip
    yield "task", {
        "job_name": job_name, "task_name": rows["task"], "inst_num": rows["instances"],
        "status": _STATUS.take(pa.array(state)), "start_time": start, "end_time": end,
        "plan_cpu": 100 * rows["request_cpu_cores"], "plan_mem": rows["request_memory_gib"],
        "plan_gpu": 100 * rows["request_gpus"], "gpu_type": rows["after_gpu_type"],
    }  # fmt: skip
    workers = _Workers(rows, job_name, job_id, state, start, end, names, rng, first)
    yield "instance", workers.instances()
    yield "sensor", workers.sensors()
    yield "machine_metric", workers.machine_metrics()


class _Workers:
    """The workers of some tasks: each task's row repeated, with names and use of their own."""

    def __init__(
        self,
        rows: pd.DataFrame,
        job_name: pa.Array,
        job_id: pa.Array,
        state: Ints,
        start: Floats,
        end: Floats,
        names: _Names,
        rng: np.random.Generator,
        first: int,
    ) -> None:
        count = rows["instances"].to_numpy(dtype=np.int64)
        self.rows, self.rng = rows, rng
        self.row = np.repeat(np.arange(len(rows)), count)
        within = np.arange(len(self.row)) - np.repeat(np.cumsum(count) - count, count)
        keys = pa.array(self.row)
        self.worker = hex_names(rng, len(self.row), 60, first=first)
        self.machine = names.machines_of(rows["after_node"], self.row, within)
        self.job_name, self.job_id = job_name.take(keys), job_id.take(keys)
        self.task = pa.array(rows["task"]).take(keys)
        self.state, self.start, self.end = state[self.row], start[self.row], end[self.row]
        self.first = first
        self.measured = np.flatnonzero(rows["cpu_mean_cores"].notna().to_numpy()[self.row])

    def instances(self) -> dict[str, object]:
        return {
            "job_name": self.job_name, "task_name": self.task,
            "inst_name": hex_names(self.rng, len(self.row), 60, first=self.first),
            "worker_name": self.worker, "inst_id": self.job_id,
            "status": _STATUS.take(pa.array(self.state)),
            "start_time": self.start, "end_time": self.end, "machine": self.machine,
        }  # fmt: skip

    def sensors(self) -> dict[str, object]:
        kept = pa.array(self.measured)
        memory, gpu_memory = self._use("memory_mean_gib"), self._use("gpu_memory_mean_gib")
        peak = self._ratio("memory_peak_gib", "memory_mean_gib")
        gpu_peak = self._ratio("gpu_memory_peak_gib", "gpu_memory_mean_gib")
        has_gpu = np.isfinite(gpu_memory)
        device = np.where(has_gpu, 1 + self.rng.integers(0, 2, len(has_gpu)), 0)
        return {
            "job_name": self.job_name.take(kept), "task_name": self.task.take(kept),
            "worker_name": self.worker.take(kept), "inst_id": self.job_id.take(kept),
            "machine": self.machine.take(kept), "gpu_name": _DEVICES.take(pa.array(device)),
            "cpu_usage": np.round(100 * self._use("cpu_mean_cores"), 3),
            "gpu_wrk_util": np.round(self._use("gpu_util_mean_pct"), 4),
            "avg_mem": np.round(memory, 4), "max_mem": np.round(memory * peak, 4),
            "avg_gpu_wrk_mem": np.round(gpu_memory, 4),
            "max_gpu_wrk_mem": np.round(gpu_memory * gpu_peak, 4),
            **{
                name: np.round(self._use(column), 1)
                for name, column in (
                    ("read", "read_bytes"), ("write", "write_bytes"),
                    ("read_count", "read_count"), ("write_count", "write_count"),
                )
            },
        }  # fmt: skip

    def machine_metrics(self) -> dict[str, object]:
        kept = pa.array(self.measured)
        return {
            "worker_name": self.worker.take(kept), "machine": self.machine.take(kept),
            "start_time": self.start[self.measured], "end_time": self.end[self.measured],
            **{
                name: np.round(self._column(f"after_{name}"), 3)
                for name in HEADERS["machine_metric"].split()[4:]
            },
        }  # fmt: skip

    def _column(self, name: str) -> Floats:
        return self.rows[name].to_numpy(dtype=float)[self.row[self.measured]]

    def _use(self, name: str) -> Floats:
        values = self._column(name)
        return np.asarray(values * np.exp(self.rng.normal(0.0, _WORKER_SD, len(values))))

    def _ratio(self, above: str, below: str) -> Floats:
        return np.asarray(self._column(above) / self._column(below))


def _machine_spec(nodes: pd.DataFrame, names: _Names) -> dict[str, object]:
    return {
        "machine": names.machine, "gpu_type": nodes["gpu_type"].fillna("CPU"),
        "cap_cpu": nodes["cpu_cores"], "cap_mem": nodes["memory_gib"], "cap_gpu": nodes["gpus"],
    }  # fmt: skip


def _arrow(table: str, columns: dict[str, object]) -> pa.Table:
    """Return the columns in the order of the raw table; missing values stay empty."""
    names = HEADERS[table].split()
    arrays = [
        values if isinstance(values, pa.Array) else pa.array(values, from_pandas=True)
        for values in (columns[name] for name in names)
    ]
    return pa.table(arrays, names=names)


def _into_archive(path: Path) -> None:
    """Replace a CSV by a .tar.gz that holds it."""
    target = path.with_suffix(".tar.gz")
    with tarfile.open(target, "w:gz", compresslevel=4) as archive:
        archive.add(path, arcname=path.name)
    path.unlink()
