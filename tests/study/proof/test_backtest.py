from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.sizing.export_formats import export
from prophase.sizing.kind_recommendation import Gate, recommend
from prophase.study.proof.backtest import forward_splits
from prophase.study.proof.candidate import read_candidate
from prophase.study.proof.reserved_hours import subject_of
from prophase.trace.identity.job_identity import with_identity
from prophase.trace.trace_tables import open_trace


def test_steady_tasks_keep_what_was_promised(pipeline_jobs: pd.DataFrame) -> None:
    found = forward_splits(subject_of(pipeline_jobs), gate=Gate(least_saving=0.2))
    assert len(found.splits) == 10
    assert found.near == found.told == 10
    assert found.saving is not None
    assert found.saving.value > 0.8
    assert "10 of 10" in found.sentence()


def test_only_jobs_that_had_ended_before_a_cut_are_learnt_from(
    pipeline_jobs: pd.DataFrame,
) -> None:
    for one in forward_splits(subject_of(pipeline_jobs)).splits:
        ended = (pipeline_jobs["end_s"] <= one.cut_s).sum()
        assert one.learnt_jobs == ended
        assert one.later_jobs == (pipeline_jobs["submit_s"] >= one.cut_s).sum()


def test_a_task_that_grows_after_a_cut_breaks_the_promise(pipeline_jobs: pd.DataFrame) -> None:
    jobs = pipeline_jobs.copy()
    late = (jobs["submit_s"] > jobs["submit_s"].quantile(0.6)) & (jobs["task"] == "align")
    jobs.loc[late, "memory_peak_gib"] = 15.0
    found = forward_splits(subject_of(jobs), gate=Gate(least_saving=0.2))
    assert found.near < 9
    assert found.oom is not None
    assert found.oom.value > 0.02


def test_another_version_of_the_code_does_not_follow_what_an_earlier_one_needed(
    pipeline_jobs: pd.DataFrame, tmp_path: Path
) -> None:
    late = pipeline_jobs["submit_s"] > pipeline_jobs["submit_s"].quantile(0.6)
    jobs = pipeline_jobs.assign(attr_version=np.where(late, "v2", "v1"))
    jobs.loc[late & (jobs["task"] == "align"), "memory_peak_gib"] = 15.0
    found = forward_splits(subject_of(jobs), gate=Gate(least_saving=0.2))
    assert found.near == found.told >= 5
    assert found.oom is not None
    assert found.oom.value < 0.02
    # as in a file: what the first version needed is for jobs of that version
    file = tmp_path / "recommendation.json"
    file.write_text(export(recommend(jobs[~late]), "json"))
    subject, advice = subject_of(jobs), read_candidate(file)
    followed = subject.following(advice.matched(subject.today.jobs)) != ""
    assert (followed == (subject.today.jobs["attr_version"] == "v1").to_numpy(bool)).all()


def test_a_promise_that_is_exceeded_is_kept_though_not_near(pipeline_jobs: pd.DataFrame) -> None:
    jobs = pipeline_jobs.copy()
    early = (jobs["submit_s"] < jobs["submit_s"].quantile(0.25)) & (jobs["task"] == "align")
    jobs.loc[early, "memory_peak_gib"] = 9.0
    found = forward_splits(subject_of(jobs), gate=Gate(least_saving=0.2))
    assert found.kept == found.told >= 9
    assert found.near <= found.kept


def test_tasks_that_never_come_back_leave_nothing_held_out(pipeline_jobs: pd.DataFrame) -> None:
    rows = range(len(pipeline_jobs))
    few = pipeline_jobs.assign(task=[f"t{i // 8}" for i in rows])
    many = few.assign(
        task=[f"t{i // 12}" for i in rows], memory_peak_gib=2.0, request_memory_gib=16.0
    )
    few, many = with_identity(few, by="task"), with_identity(many, by="task")
    kept, gone = forward_splits(subject_of(few)), forward_splits(subject_of(many), splits=2)
    assert kept.told == gone.told == 0
    assert kept.saving is None
    assert "every task kept its request" in kept.sentence()
    assert "no task ran again" in gone.sentence()


def test_at_least_one_split_is_asked_for(pipeline_jobs: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="at least one"):
        forward_splits(subject_of(pipeline_jobs), splits=0)


@pytest.mark.data
def test_on_the_task_traces_nine_of_ten_promises_are_kept_within_five_points(
    shared_data: Path,
) -> None:
    for name in ("trace_eager.csv", "trace_rnaseq.csv", "trace_chipseq.csv.gz"):
        jobs = open_trace(shared_data / "nextflow" / name, tables=["jobs"]).jobs
        found = forward_splits(subject_of(jobs))
        assert found.told >= 6, name
        assert found.near >= 0.9 * found.told, (name, found.sentence())
        assert found.near_of_reached >= 0.85 * found.told, (name, found.sentence())
        assert found.oom is not None
        assert found.oom.value <= 0.01
        assert np.isfinite([one.error_points for one in found.splits]).all()


def test_killed_jobs_teach_the_recommendations_of_past_cut_off_dates(
    pipeline_jobs: pd.DataFrame,
) -> None:
    jobs = pipeline_jobs.copy()
    killed = (jobs["task"] == "align") & (np.arange(len(jobs)) % 7 == 0)
    jobs.loc[killed, "memory_peak_gib"] = jobs.loc[killed, "request_memory_gib"]
    jobs["status"] = np.where(killed, "oom", "completed")
    taught = forward_splits(subject_of(jobs))
    without = forward_splits(subject_of(jobs[~killed]))
    assert max(one.advised_tasks for one in taught.splits[2:]) < min(
        one.advised_tasks for one in without.splits
    )
