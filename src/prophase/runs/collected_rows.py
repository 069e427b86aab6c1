"""What is kept of a run's attempts: their rows, with logs uploaded and further attributes added."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.runs.attribute_sources import AttributeSource, gathered_attributes
from prophase.runs.executor import Assignment, Executor
from prophase.runs.shared_logs import upload_logs

_log = logging.getLogger(__name__)


def collected_rows(
    job: Assignment, rows: Sequence[JsonObject], sources: Sequence[AttributeSource] = ()
) -> list[JsonObject]:
    """Return the rows of a run as the store keeps them.

    Logs are uploaded where the pipeline names shared storage, and what other sources know of the
    run stands under ``attributes``.
    """
    kept = [dict(row) for row in rows]
    if kept and job.pipeline.logs_url is not None:
        kept = upload_logs(kept, job.pipeline.logs_url, job.run_id or job.new_run_id)
    shared, per_task = gathered_attributes(job, sources) if kept else ({}, {})
    if not shared and not per_task:
        return kept
    return [{**row, "attributes": {**shared, **per_task.get(row["task"], {})}} for row in kept]


def rows_of_failed(
    job: Assignment, executor: Executor, sources: Sequence[AttributeSource] = ()
) -> list[JsonObject]:
    """Return what a run that failed leaves behind; what cannot be had is left out with a warning.

    Attempts that ended for lack of memory are as good a lesson as those that succeeded.
    """
    rows: list[JsonObject] = []
    try:
        rows = [dict(row) for row in executor.ended_attempts(job)]
        return collected_rows(job, rows, sources)
    except (ProphaseError, OSError) as error:
        _log.warning(
            "run %d: its attempts are kept without all that belongs to them: %s", job.id, error
        )
        return rows
