"""A job that is about to be submitted: its columns, from plain fields under everyday names."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pandas as pd

from prophase import units
from prophase.errors import InputError, nearest, not_among
from prophase.json_types import JsonMapping, JsonObject
from prophase.trace.mapping.column_mapping import free_name
from prophase.trace.schema import ATTRIBUTE_PREFIX, JOBS, STATUSES, Column


@dataclass(frozen=True)
class Submission:
    """One job as the job table would hold it before it starts."""

    #: columns that have a value
    columns: JsonMapping
    #: kind of file, in words
    form: str
    #: what was not used or had to be assumed, a sentence each
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What to call the job in an answer."""
        held = self.columns.get("job_id") or self.columns.get("name") or "job"
        return str(held)


def as_jobs(submissions: Sequence[Submission]) -> pd.DataFrame:
    """Return a job table of submissions; what a job does not say is missing.

    Examples
    --------
    >>> as_jobs([Submission({"user": "ann", "request_gpus": 2.0}, "YAML")])
      user  request_gpus
    0  ann           2.0
    """
    return pd.DataFrame([dict(one.columns) for one in submissions])


#: everyday name -> column
ALIASES = {
    **dict.fromkeys(("cpu", "cpus", "cores", "cpu_cores", "request_cpus"), "request_cpu_cores"),
    **dict.fromkeys(("memory", "mem", "ram", "memory_gib"), "request_memory_gib"),
    **dict.fromkeys(("gpu", "gpus"), "request_gpus"),
    **dict.fromkeys(("time_limit", "walltime", "timeout", "limit"), "time_limit_s"),
    **dict.fromkeys(("account", "project", "team"), "group"),
    **dict.fromkeys(("partition", "namespace", "vc"), "queue"),
    **dict.fromkeys(("nodes", "replicas", "parallelism", "workers"), "instances"),
    **dict.fromkeys(("owner", "username"), "user"),
    **dict.fromkeys(("model", "app", "application"), "workload"),
    **dict.fromkeys(("role", "process"), "task"),
    "job_name": "name",
    "id": "job_id",
    "accelerator": "gpu_type",
    **{word: f"attr_{word}" for word in ("image", "container", "workdir", "comment")},
}


def from_fields(fields: Mapping[Any, Any], *, form: str, where: str) -> Submission:
    """Return the submission that named fields describe; one of another name is an attribute.

    An import keeps further columns of a table as attributes, so the same names find them again.

    Examples
    --------
    >>> found = from_fields({"memory": "16Gi", "Colour": "red"}, form="YAML", where="job.yaml")
    >>> dict(found.columns)
    {'request_memory_gib': 16.0, 'attr_colour': 'red'}
    """
    columns, notes = _read_fields(fields, where, finished=False)
    return Submission(columns, form, notes)


def _read_fields(
    fields: Mapping[Any, Any], where: str, *, finished: bool
) -> tuple[JsonObject, tuple[str, ...]]:
    """Return the columns that fields say, and notes on those that are not used."""
    columns: JsonObject = {}
    notes = []
    for key, value in fields.items():
        name = str(key).strip()
        column = ALIASES.get(name.lower(), name)
        known = JOBS.get(column)
        if known is None and (meant := _meant(name)) is not None:
            known, factor = meant
            column = known.name
            if factor != 1.0 and not isinstance(value, bool):
                # cells of a CSV are text; what has a unit of its own is left to its parser
                with suppress(TypeError, ValueError, OverflowError):
                    value = float(value) * factor
            if known.known != "after":
                notes.append(f"{name} is read as {column}.")
        if known is None and not finished and not isinstance(value, Mapping | list):
            column = free_name(ATTRIBUTE_PREFIX, name)
            known = JOBS.get(column)
        if known is None:
            said = f"{name} is not a column of the job table and is not used."
            notes.append(f"{said} {nearest(column, [*JOBS.names, *ALIASES])}".strip())
        elif known.known == "after" and not finished:
            notes.append(f"{name} is known only after a job has run and is not used.")
        elif column in columns:
            raise InputError(f"{where}: {name} says {column} a second time. Keep one of the two.")
        else:
            found = column_value(column, value, f"{where}: {name}")
            if found is not None:
                columns[column] = found
                if name.lower() == "namespace":
                    columns["attr_namespace"] = found
    return columns, tuple(notes)


def near_name(name: str, columns: Collection[str]) -> str:
    """Return a sentence that proposes what a misspelt name of one of the columns may have meant."""
    everyday = (alias for alias, column in ALIASES.items() if column in columns)
    return nearest(name, [*(one.removeprefix(ATTRIBUTE_PREFIX) for one in columns), *everyday])


def _meant(name: str) -> tuple[Column, float] | None:
    """Return the column that a foreign name means, and what its numbers are times."""
    # few jobs have such a name, and one job is to be answered soon
    from prophase.trace.mapping.column_matches import column_named

    return column_named(name)


def column_value(column: str, value: Any, where: str) -> Any:
    """Return a value as the column holds it: a number with its unit taken off, or text."""
    known = JOBS.get(column)
    if known is not None and known.kind == "number":
        return number_for(known, value, where)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, Mapping | list):
        raise InputError(f"{where} is a {type(value).__name__}, but {column} is one value.")
    if column.startswith(ATTRIBUTE_PREFIX) and isinstance(value, int | float):
        assert known is not None
        # true and false count as 1 and 0
        return number_for(known, value + 0, where)
    return str(value).strip() or None


#: no amount of anything is larger; methods compute with less exact numbers than ours
_MOST = 1e30


def number_for(column: Column, value: Any, where: str) -> float | None:
    """Return a value as the column's number; None if it is missing.

    ``where`` names the place in messages, such as ``job.yaml: memory``.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
    elif column.unit == "s":
        found = units.parse_duration(value, bare="s", where=where, error=InputError)
    elif column.unit == "GiB":
        found = units.parse_memory(value, g_is="binary", bare="GiB", where=where, error=InputError)
    else:
        found = units.parse_quantity(value, where=where, error=InputError)
    if math.isnan(found):
        return None
    if abs(found) > _MOST:
        raise InputError(f"{where}: {value!r} is more than there can be. Correct it.")
    if column.low is not None and found < column.low:
        raise InputError(
            f"{where} is {value!r}, but {column.name} is never below {column.low:g}. Correct it, "
            "or leave it out if it is unknown."
        )
    return found


#: characters of the name of a finished job
_LONGEST_ID = 200


@dataclass(frozen=True)
class FinishedJob:
    """One row of the job table, and what of the report was not used."""

    columns: JsonMapping
    notes: tuple[str, ...] = ()

    @property
    def job_id(self) -> str:
        """Name of the job."""
        return str(self.columns["job_id"])


def finished_from_fields(fields: Mapping[Any, Any], *, where: str = "the job") -> FinishedJob:
    """Return the finished job that named fields describe.

    Examples
    --------
    >>> found = finished_from_fields({"job_id": "17", "user": "ann", "duration_s": "2h"})
    >>> dict(found.columns)
    {'job_id': '17', 'user': 'ann', 'duration_s': 7200.0}
    >>> finished_from_fields({"job_id": "17", "user": "ann"})
    Traceback (most recent call last):
    prophase.errors.InputError: the job 17: says nothing that was measured. Add for example ...
    """
    columns, notes = _read_fields(fields, where, finished=True)
    job_id = columns.get("job_id")
    if not job_id or len(job_id) > _LONGEST_ID or not job_id.isprintable():
        raise InputError(
            f"{where}: needs a job_id of 1 to {_LONGEST_ID} visible characters, by which it is "
            "known again."
        )
    _check(columns, f"{where} {job_id}")
    return FinishedJob(columns, notes)


def _check(columns: JsonMapping, where: str) -> None:
    status = columns.get("status")
    if status is not None and status not in STATUSES:
        said = f"{where}: status {status!r} is unknown."
        raise InputError(not_among(said, str(status), STATUSES))
    if status in ("running", "pending"):
        raise InputError(f"{where}: is {status}. Report it when it has ended.")
    measured = [name for name in columns if _is_measured(name)]
    if not measured:
        raise InputError(
            f"{where}: says nothing that was measured. Add for example duration_s or "
            "memory_peak_gib."
        )
    start, end = columns.get("start_s"), columns.get("end_s")
    if start is not None and end is not None and end < start:
        raise InputError(f"{where}: ended at {end:g} s, before it started at {start:g} s.")


def _is_measured(name: str) -> bool:
    column = JOBS.get(name)
    return column is not None and column.known == "after" and name != "start_s"
