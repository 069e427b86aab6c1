"""Which reported jobs a model has learnt from in another way, so that none counts twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prophase.errors import ProphaseError
from prophase.trace.places import WATCH

if TYPE_CHECKING:
    from prophase.profile.predict.job_model import JobModel
    from prophase.serve.library import Held


def known_jobs(held: Held, model: JobModel) -> dict[str, frozenset[str]]:
    """Return, per target, the ids of jobs that its predictor knows.

    Those of the job table if it was learnt from this table, and those that ``prophase watch``
    has taken if it was that which published the predictor: it then knows more outcomes than
    the table has.
    """
    from prophase.profile.predict.submitted import outcomes

    entry = held.tables.get("jobs")
    if entry is None or model.data_hash != entry.source_hash:
        return {}
    jobs = held.table("jobs")
    table = frozenset(jobs["job_id"].astype(str)) if "job_id" in jobs else frozenset()
    watched = _watched(held)
    found = {}
    for target, predictor in model.predictors.items():
        try:
            learnt = int(np.isfinite(outcomes(jobs, target)).sum())
        except ProphaseError:
            learnt = 0
        found[target] = table | watched if len(predictor.history_) > learnt else table
    return found


def _watched(held: Held) -> frozenset[str]:
    import pandas as pd

    parts = sorted((held.workspace.folder / WATCH).glob("jobs-[0-9]*.parquet"))
    ids = [pd.read_parquet(path, columns=["job_id"])["job_id"].astype(str) for path in parts]
    return frozenset().union(*ids) if ids else frozenset()
