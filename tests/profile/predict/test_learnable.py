from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.profile.predict.job_model import learn
from prophase.profile.predict.learnable import learnable


def test_an_attribute_that_equals_the_outcome_is_not_learnt_from(jobs: pd.DataFrame) -> None:
    told = jobs.assign(attr_runtime=jobs["duration_s"] * 1.0001)
    model = learn(told, ["duration_s"], method="backoff-median")
    assert "attr_runtime" not in model.columns
    assert any("attr_runtime" in note for note in model.notes)
    assert learnable(jobs)[1] == ()


def test_a_job_that_is_there_twice_counts_once(jobs: pd.DataFrame) -> None:
    kept, notes = learnable(pd.concat([jobs, jobs[:7]], ignore_index=True))
    assert len(kept) == len(jobs)
    assert notes == ("7 jobs are there twice and count once.",)


def test_times_in_milliseconds_are_refused_and_single_ones_left_out(jobs: pd.DataFrame) -> None:
    submit = jobs["submit_s"].to_numpy(dtype=float)
    with pytest.raises(InputError, match="milliseconds"):
        learnable(jobs.assign(submit_s=1e12 + 1_000 * submit))
    one = jobs.assign(submit_s=np.where(np.arange(len(jobs)) == 5, 1e12, submit))
    kept, notes = learnable(one)
    assert len(kept) == len(jobs) - 1
    assert len(notes) == 1
