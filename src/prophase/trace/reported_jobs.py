"""Jobs that came to a workspace after its import: watched, or reported to its service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from prophase.errors import DatabaseError, FormatError
from prophase.trace.identity.job_identity import rule_of, with_identity
from prophase.trace.service_database import ServiceDatabase, has_service_database
from prophase.trace.workspace_paths import REPORTED, WATCH


def reported_jobs(folder: Path | str) -> pd.DataFrame:
    """Return every job that was fed back, once; the first word on a job counts.

    Examples
    --------
    >>> len(reported_jobs(getfixture("tmp_path")))
    0
    """
    workspace = Path(folder)
    parts = [pd.read_parquet(path) for path in sorted((workspace / WATCH).glob("jobs-*.parquet"))]
    reported = _reported(workspace)
    if reported:
        parts.append(pd.DataFrame(reported))
    if not parts:
        return pd.DataFrame({"job_id": []})
    return one_row_per_job(parts)


def one_row_per_job(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join job tables; of rows with the same ``job_id`` the first stays.

    Examples
    --------
    >>> imported = pd.DataFrame({"job_id": ["1", "2"], "duration_s": [60.0, 70.0]})
    >>> reported = pd.DataFrame({"job_id": ["2", "3"], "duration_s": [71.0, 80.0]})
    >>> one_row_per_job([imported, reported])["duration_s"].tolist()
    [60.0, 70.0, 80.0]
    """
    joined = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    joined = joined[~joined["job_id"].astype(str).duplicated()].reset_index(drop=True)
    # those that came later are grouped as those before
    rule = next(filter(None, map(rule_of, parts)), None)
    return joined if rule is None else with_identity(joined, rule)


def _reported(folder: Path) -> list[dict[str, object]]:
    if not has_service_database(folder):
        return []
    from sqlalchemy import Connection, select

    from prophase.trace.service_tables import FEEDBACK

    def read(connection: Connection) -> list[str]:
        return list(
            connection.execute(select(FEEDBACK.c.job).order_by(FEEDBACK.c.number)).scalars()
        )

    try:
        base = ServiceDatabase.of(folder)
        try:
            return [json.loads(job) for job in base.read(read)]
        finally:
            base.close()
    except (DatabaseError, ValueError) as cause:
        raise FormatError(
            f"{folder / REPORTED}: the jobs reported to the service cannot be read ({cause}). "
            "Restore the file from a backup, or move it away to go on without them."
        ) from cause
