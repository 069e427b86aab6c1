from __future__ import annotations

import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError
from prophase.profile.clusters.default_profiles import ended_jobs

JOBS = pd.DataFrame(
    {
        "job_id": list("abcd"),
        "duration_s": [1.0, 2.0, 3.0, None],
        "status": ["completed", "failed", "completed", "running"],
    }
)


def test_unfinished_jobs_are_left_out_and_counted():
    kept = ended_jobs(JOBS)
    assert kept.jobs["job_id"].tolist() == ["a", "b", "c"]
    assert kept.notes == ("1 job without a duration is left out: it has not ended.",)


def test_a_status_can_be_asked_for():
    kept = ended_jobs(JOBS, ["completed"])
    assert kept.jobs["job_id"].tolist() == ["a", "c"]
    assert "1 job did not end as completed." in kept.notes


def test_an_unknown_status_and_a_table_without_any_are_refused():
    with pytest.raises(InputError, match="There are: completed, failed"):
        ended_jobs(JOBS, ["complete"])
    with pytest.raises(MissingColumnError, match="how jobs ended"):
        ended_jobs(JOBS.drop(columns="status"), ["completed"])
    with pytest.raises(InputError, match="no job is left"):
        ended_jobs(JOBS.head(0))


def test_a_table_without_durations_is_kept_whole():
    assert len(ended_jobs(JOBS.drop(columns="duration_s")).jobs) == 4
