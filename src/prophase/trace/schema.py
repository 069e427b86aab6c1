"""The three tables every source becomes (jobs, usage, nodes), and their check in memory.

Each column has one spelling, a unit in its name, a range, and a mark that says
when its value is known. Predictors accept only what is known at submit time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from prophase.errors import SchemaError, nearest
from prophase.plural import counted

Kind = Literal["text", "number", "any"]
#: key: names a row. submit: known when the job is submitted. after: known only later.
Known = Literal["key", "submit", "after"]

ATTRIBUTE_PREFIX = "attr_"
AFTERWARDS_PREFIX = "after_"


@dataclass(frozen=True)
class Column:
    """One column: what it holds, in which unit and range, and when it is known."""

    name: str
    kind: Kind
    known: Known
    text: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    required: bool = False


@dataclass(frozen=True)
class TableSchema:
    """The columns of one table and the prefixes of the free ones."""

    name: str
    columns: tuple[Column, ...]
    prefixes: tuple[str, ...] = ()
    #: any further column is a metric: a number
    open_metrics: bool = False

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def in_order(self, columns: Iterable[str]) -> list[str]:
        """Return columns in the order of the schema, free ones last."""
        order = {name: place for place, name in enumerate(self.names)}
        return sorted(columns, key=lambda name: (order.get(name, len(order)), name))

    def get(self, name: str) -> Column | None:
        """Return the column of that name; free columns are made up from their prefix."""
        if (column := self._by_name.get(name)) is not None:
            return column
        for prefix in self.prefixes:
            if name.startswith(prefix) and len(name) > len(prefix):
                known: Known = "submit" if prefix == ATTRIBUTE_PREFIX else "after"
                return Column(name, "any", known, "a column of the source, as it came")
        if self.open_metrics:
            return Column(name, "number", "after", "a metric of the source")
        return None


def _text(name: str, known: Known, text: str, *, required: bool = False) -> Column:
    return Column(name, "text", known, text, required=required)


def _amount(name: str, known: Known, unit: str, text: str, high: float | None = None) -> Column:
    return Column(name, "number", known, text, unit=unit, low=0.0, high=high)


def _clock(name: str, known: Known, text: str) -> Column:
    return Column(name, "number", known, text, unit="s")


JOBS = TableSchema(
    "jobs",
    (
        _text("job_id", "key", "name of the row, unique in the table", required=True),
        _text("parent_id", "key", "the job or run this row belongs to"),
        _text("name", "submit", "job name given by the user"),
        _text("user", "submit", "who submitted it"),
        _text("group", "submit", "recurring-job key: same script and inputs, or account"),
        _text("queue", "submit", "queue, partition or virtual cluster"),
        _text("workload", "submit", "kind of work: model, application or workflow"),
        _text("task", "submit", "role or process name inside the job"),
        _text("tenant", "submit", "whose it is: namespace, account and user; made at import"),
        _text("kind", "submit", "which work runs again: name, task ...; made at import"),
        _text("source", "key", "reader that made the row"),
        _clock("submit_s", "submit", "when it was submitted"),
        _amount("submit_order", "submit", "", "place in submission order if no clock is known"),
        _clock("start_s", "after", "when it started"),
        _clock("end_s", "after", "when it ended; missing if still running"),
        _amount("duration_s", "after", "s", "run time, end - start; missing if unknown"),
        _amount("wait_s", "after", "s", "time in the queue, start - submit"),
        _text("status", "after", "completed, failed, cancelled, timeout, oom, running, pending"),
        _amount("instances", "submit", "", "identical instances this row stands for"),
        _amount("gang_size", "submit", "", "instances of the whole gang that start together"),
        _amount("request_cpu_cores", "submit", "cores", "requested CPU per instance"),
        _amount("request_memory_gib", "submit", "GiB", "requested memory per instance"),
        _amount("request_gpus", "submit", "GPUs", "requested GPUs per instance, fractions allowed"),
        _text("gpu_type", "submit", "GPU types allowed, joined by |; missing means any"),
        _amount("time_limit_s", "submit", "s", "requested wall time"),
        Column("priority", "number", "submit", "priority at submission; larger goes first"),
        _amount("cpu_mean_cores", "after", "cores", "mean CPU use per instance"),
        _amount("cpu_peak_cores", "after", "cores", "peak CPU use per instance"),
        _amount("memory_mean_gib", "after", "GiB", "mean memory use per instance"),
        _amount("memory_peak_gib", "after", "GiB", "peak memory use per instance"),
        _amount("gpu_util_mean_pct", "after", "%", "mean GPU use, 100 = one whole GPU"),
        _amount("gpu_memory_mean_gib", "after", "GiB", "mean GPU memory use per instance"),
        _amount("gpu_memory_peak_gib", "after", "GiB", "peak GPU memory use per instance"),
        _amount("read_bytes", "after", "bytes", "bytes read"),
        _amount("write_bytes", "after", "bytes", "bytes written"),
        _amount("read_count", "after", "", "read operations"),
        _amount("write_count", "after", "", "write operations"),
    ),
    prefixes=(ATTRIBUTE_PREFIX, AFTERWARDS_PREFIX),
)

USAGE = TableSchema(
    "usage",
    (
        _text("series_id", "key", "container, pod, VM or job the sample belongs to", required=True),
        Column("time_s", "number", "after", "time of the sample", unit="s", required=True),
        _amount("cpu_cores", "after", "cores", "CPU in use"),
        _amount("cpu_util_pct", "after", "%", "CPU in use, percent of what the series owns"),
        _amount("cpu_util_peak_pct", "after", "%", "highest CPU use inside the step"),
        _amount("memory_gib", "after", "GiB", "memory in use"),
        _amount("memory_util_frac", "after", "", "memory in use, fraction of the limit"),
        _amount("memory_limit_gib", "after", "GiB", "memory limit in force"),
        _amount("gpu_util_pct", "after", "%", "GPU busy time", high=100.0 * 64),
        _amount("gpu_memory_gib", "after", "GiB", "GPU memory in use"),
        _amount("read_bytes_per_s", "after", "bytes/s", "read rate"),
        _amount("write_bytes_per_s", "after", "bytes/s", "write rate"),
    ),
    open_metrics=True,
)

NODES = TableSchema(
    "nodes",
    (
        _text("node_id", "key", "name of the node, unique in the table", required=True),
        _amount("cpu_cores", "submit", "cores", "CPU cores of the node"),
        _amount("memory_gib", "submit", "GiB", "memory of the node"),
        _amount("gpus", "submit", "GPUs", "GPUs of the node"),
        _text("gpu_type", "submit", "type of its GPUs; missing if it has none"),
        _text("features", "submit", "labels of the node, joined by |"),
        _clock("available_from_s", "submit", "start of availability; missing means always"),
        _clock("available_until_s", "submit", "end of availability; missing means always"),
    ),
    prefixes=(ATTRIBUTE_PREFIX,),
)

SCHEMAS: dict[str, TableSchema] = {schema.name: schema for schema in (JOBS, USAGE, NODES)}

#: columns that are made of others at import; predictors are given the others
IDENTITY = ("tenant", "kind")

#: the words `status` may hold
STATUSES = (
    "completed",
    "failed",
    "cancelled",
    "timeout",
    "oom",
    "node_fail",
    "preempted",
    "running",
    "pending",
    "unknown",
)


def known_at_submit(columns: Iterable[str]) -> list[str]:
    """Return those columns of the job table that a predictor may use.

    Examples
    --------
    >>> known_at_submit(["user", "duration_s", "attr_batch", "after_node"])
    ['user', 'attr_batch']
    """
    marked = ((name, JOBS.get(name)) for name in columns if name not in IDENTITY)
    return [name for name, column in marked if column is not None and column.known == "submit"]


def check_jobs(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the job table if it keeps the schema, else say what breaks it and where.

    Examples
    --------
    >>> check_jobs(pd.DataFrame({"job_id": ["a"], "duration_s": [5.0]})).shape
    (1, 2)
    """
    _check(JOBS, jobs)
    repeated = jobs["job_id"].duplicated()
    if repeated.any():
        row = int(np.flatnonzero(repeated)[0])
        raise SchemaError(
            f"jobs row {row}: job_id {jobs['job_id'].iloc[row]!r} repeats ({int(repeated.sum()):,} "
            "rows do). An id names one row: number the copies or remove them."
        )
    if "status" in jobs:
        odd = set(jobs["status"].dropna().unique()) - set(STATUSES)
        if odd:
            raise SchemaError(
                f"jobs: status holds {sorted(odd)[0]!r}; known words are {', '.join(STATUSES)}."
            )
    return jobs


def check_usage(usage: pd.DataFrame) -> pd.DataFrame:
    """Return the usage table if it keeps the schema, else say what breaks it and where."""
    return _check(USAGE, usage)


def check_nodes(nodes: pd.DataFrame) -> pd.DataFrame:
    """Return the node table if it keeps the schema, else say what breaks it and where."""
    _check(NODES, nodes)
    repeated = nodes["node_id"].duplicated()
    if repeated.any():
        name = nodes.loc[repeated, "node_id"].iloc[0]
        raise SchemaError(f"nodes: node_id {name!r} repeats. Each node has one row.")
    return nodes


def _check(schema: TableSchema, table: pd.DataFrame) -> pd.DataFrame:
    absent = [column.name for column in schema if column.required and column.name not in table]
    if absent:
        raise SchemaError(
            f"{schema.name}: the column {absent[0]} is missing. The table has "
            f"{', '.join(map(str, table.columns[:12]))}."
        )
    for name in table.columns:
        column = schema.get(str(name))
        if column is None:
            hint = nearest(str(name), schema.names) or (
                "Columns of your own start with attr_ (known at submit time) or after_."
            )
            raise SchemaError(f"{schema.name}: the column {name!r} is unknown. {hint}")
        _check_column(schema, column, table[name])
    return table


def _check_column(schema: TableSchema, column: Column, values: pd.Series) -> None:
    if column.required and values.isna().any():
        row = int(np.flatnonzero(values.isna())[0])
        raise SchemaError(f"{schema.name} row {row}: {column.name} is missing; it names the row.")
    if column.kind != "number":
        return
    if not pd.api.types.is_numeric_dtype(values):
        raise SchemaError(
            f"{schema.name}: {column.name} holds {values.dtype}, but is a number"
            f"{' in ' + column.unit if column.unit else ''}. Convert it first."
        )
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    low = -np.inf if column.low is None else column.low
    high = np.inf if column.high is None else column.high
    unfit = ~np.isnan(numbers) & ~((numbers >= low) & (numbers <= high) & np.isfinite(numbers))
    if unfit.any():
        row = int(np.flatnonzero(unfit)[0])
        if np.isfinite(high):
            fits = f"from {low:g} to {high:g}"
        else:
            fits = f"{low:g} or more, not infinite" if np.isfinite(low) else "not infinite"
        raise SchemaError(
            f"{schema.name} row {row}: {column.name} is {numbers[row]:g}; it has to be {fits} "
            f"({counted(int(unfit.sum()), 'row')} like this). Correct the rows or leave them out."
        )
