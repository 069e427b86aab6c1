"""A finished job as somebody reports it: what was known before it ran, and what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prophase.errors import InputError, nearest, not_among
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.submission.submission import ALIASES, column_value
from prophase.trace.schema import JOBS, STATUSES

_LONGEST_ID = 200


@dataclass(frozen=True)
class Finished:
    """One row of the job table, and what of the report was not used."""

    columns: JsonMapping
    notes: tuple[str, ...] = ()

    @property
    def job_id(self) -> str:
        """Name of the job."""
        return str(self.columns["job_id"])


def finished_from_fields(fields: Mapping[Any, Any], *, where: str = "the job") -> Finished:
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
    columns: JsonObject = {}
    notes = []
    for key, value in fields.items():
        name = str(key).strip()
        column = ALIASES.get(name.lower(), name)
        if JOBS.get(column) is None:
            hint = nearest(column, [*JOBS.names, *ALIASES])
            notes.append(f"{name} is not a column of the job table and is not used. {hint}".strip())
            continue
        if column in columns:
            raise InputError(f"{where}: {name} says {column} a second time. Keep one of the two.")
        found = column_value(column, value, f"{where}: {name}")
        if found is not None:
            columns[column] = found
    job_id = columns.get("job_id")
    if not job_id or len(job_id) > _LONGEST_ID or not job_id.isprintable():
        raise InputError(
            f"{where}: needs a job_id of 1 to {_LONGEST_ID} visible characters, by which it is "
            "known again."
        )
    _check(columns, f"{where} {job_id}")
    return Finished(columns, tuple(notes))


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
