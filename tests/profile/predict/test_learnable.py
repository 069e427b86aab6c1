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


@pytest.mark.parametrize("made", ["cost", "end", "end_ms", "elapsed"])
def test_what_was_written_afterwards_is_not_learnt_from_in_any_spelling(
    jobs: pd.DataFrame, made: str
) -> None:
    duration = jobs["duration_s"].to_numpy(dtype=float)
    rng = np.random.default_rng(0)
    timed = jobs.assign(
        request_cpu_cores=rng.choice([1.0, 4.0, 16.0], len(jobs)),
        request_gpus=rng.choice([0.0, 1.0], len(jobs)),
        end_s=jobs["submit_s"] + rng.exponential(600.0, len(jobs)) + duration,
    )
    end = pd.to_datetime(timed["end_s"] + 3_600, unit="s")
    written = {
        "cost": duration * (0.03 * timed["request_cpu_cores"] + 0.9 * timed["request_gpus"]),
        "end": end.dt.strftime("%Y-%m-%d %H:%M:%S"),
        "end_ms": timed["end_s"] * 1_000,
        "elapsed": pd.Series(
            [f"{int(s // 3600)}:{int(s // 60) % 60:02}:{s % 60:02.0f}" for s in duration]
        ),
    }
    kept, notes = learnable(timed.assign(attr_x=written[made]))
    assert "attr_x" not in kept
    assert len(notes) == 1


def test_a_priority_that_grew_while_the_job_waited_is_not_learnt_from(jobs: pd.DataFrame) -> None:
    wait = np.random.default_rng(0).exponential(600.0, len(jobs))
    kept, notes = learnable(jobs.assign(wait_s=wait, priority=1_000 + wait // 1))
    assert "priority" not in kept
    assert "Name it after_priority" in notes[0]
