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


@pytest.mark.parametrize("made", ["ms", "day", "row"])
def test_what_only_says_when_a_job_came_is_not_learnt_from(jobs: pd.DataFrame, made: str) -> None:
    submit = 1e9 + 864_00 / 4 * np.arange(len(jobs))
    day = pd.to_datetime(submit, unit="s").strftime("%Y-%m-%d")
    told = {"ms": submit * 1e3, "day": day, "row": np.arange(len(jobs))}[made]
    kept, notes = learnable(jobs.assign(submit_s=submit, attr_made=told))
    assert "attr_made" not in kept
    assert notes == ("attr_made is not learnt from: it only says when a job came.",)
    hour = np.arange(len(jobs)) % 24
    assert "attr_hour" in learnable(jobs.assign(submit_s=submit, attr_hour=hour))[0]


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


@pytest.fixture
def runs() -> pd.DataFrame:
    """1,200 run times without gaps."""
    rng = np.random.default_rng(0)
    duration = np.exp(rng.normal(6.0, 1.5, 1_200))
    return pd.DataFrame({"duration_s": duration, "request_gpus": rng.choice([1.0, 8.0], 1_200)})


@pytest.mark.parametrize("made", ["words", "numbers", "rare", "cost"])
def test_a_class_cut_from_the_run_time_is_not_learnt_from(runs: pd.DataFrame, made: str) -> None:
    duration, cost = runs["duration_s"], runs["duration_s"] * runs["request_gpus"]
    classes = {
        "words": pd.cut(duration, [0, 200, 1_000, np.inf], labels=["short", "medium", "long"]),
        "numbers": pd.cut(duration, [0, 200, 1_000, np.inf], labels=False),
        "rare": duration > duration.quantile(0.9),
        "cost": pd.cut(cost, [0, 600, 3_000, np.inf], labels=["cheap", "usual", "dear"]),
    }
    kept, notes = learnable(runs.assign(attr_size_class=classes[made].astype("object")))
    assert "attr_size_class" not in kept
    assert "a range of duration_s" in notes[0]


@pytest.mark.parametrize("kind", ["queue", "model", "steady", "estimate"])
def test_what_only_separates_run_times_is_learnt_from(runs: pd.DataFrame, kind: str) -> None:
    rng = np.random.default_rng(1)
    number = rng.integers(0, 6, len(runs))
    usual = np.array([30.0, 100.0, 400.0, 1_500.0, 6_000.0, 30_000.0])[number]
    made = {
        # its limit keeps long jobs out of the short one; long ones may end early
        "queue": (
            runs["duration_s"],
            np.where(runs["duration_s"] * rng.uniform(1, 30, 1_200) > 3_600, "long", "short"),
        ),
        "model": (usual * np.exp(rng.normal(0.0, 0.15, len(runs))), number),
        "steady": (usual * np.exp(rng.normal(0.0, 0.02, len(runs))), number),
        "estimate": (runs["duration_s"], runs["duration_s"] * rng.lognormal(0, 0.3, 1_200) > 400),
    }
    duration, values = made[kind]
    kept, notes = learnable(
        runs.assign(duration_s=duration, attr_kind=pd.Series(values).astype(str))
    )
    assert "attr_kind" in kept
    assert notes == ()
