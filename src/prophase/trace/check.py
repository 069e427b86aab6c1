"""Check tables in memory against their schema."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.errors import SchemaError, nearest
from prophase.trace.schema import JOBS, NODES, STATUSES, USAGE, Column, TableSchema


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
        raise SchemaError(
            f"{schema.name} row {row}: {column.name} is {numbers[row]:g}, but lies between "
            f"{low:g} and {high:g} ({int(unfit.sum()):,} rows do not). "
            "Correct the rows or leave them out."
        )
