from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.result import DataUsed
from prophase.result.json_form import to_dict
from prophase.sim import Cluster
from prophase.stats import Estimate
from prophase.study.scheduling.comparison import (
    ScheduleStudy,
    published_beside,
    require_cluster,
    schedule_study,
)
from prophase.study.scheduling.policies import FIFO, NO_SHARING, ORACLE, RESERVED, predicted
from prophase.study.scheduling.report import schedule_study_result, sentence


@pytest.fixture(scope="module")
def gpu_jobs() -> pd.DataFrame:
    """Six days of one user with short and one with long jobs, on two GPUs that are too few."""
    rng = np.random.default_rng(5)
    at = np.arange(600)
    short = rng.random(len(at)) < 0.7
    run = np.where(short, 60.0, 5000.0) * rng.uniform(0.9, 1.1, len(at))
    submit = np.sort(rng.uniform(0, 6 * 86400, len(at)))
    return pd.DataFrame(
        {
            "job_id": [f"j{i:03d}" for i in at],
            "user": np.where(short, "ann", "bob"),
            "submit_s": submit,
            "start_s": submit,
            "end_s": submit + run,
            "duration_s": run,
            "status": "completed",
            "instances": 1.0,
            "request_gpus": np.where(at % 5 == 0, 0.5, 1.0),
        }
    )


@pytest.fixture(scope="module")
def study(gpu_jobs: pd.DataFrame) -> ScheduleStudy:
    methods = ["user-median", "time-limit"]
    return schedule_study(gpu_jobs, Cluster.parse("1x2 V100"), methods, seeds=8)


def test_predictions_that_know_the_users_keep_most_of_the_oracles_gain(
    study: ScheduleStudy,
) -> None:
    fifo, oracle = study.of(FIFO), study.of(ORACLE)
    ours = study.of(predicted("user-median"))
    assert fifo is not None
    assert oracle is not None
    assert ours is not None
    assert ours.mean_jct_s < fifo.mean_jct_s
    gain = (fifo.mean_jct_s - ours.mean_jct_s) / (fifo.mean_jct_s - oracle.mean_jct_s)
    assert ours.kept_pct.value == pytest.approx(100 * gain)
    assert ours.kept_pct.value > 70
    assert ours.kept_pct.holds(ours.kept_pct.value)
    assert ours.change_pct.high < 0
    assert ours.to_dict()["change_pct_high"] == ours.change_pct.high


@pytest.mark.parametrize(
    ("low", "high", "begins"),
    [
        (-20.0, 130.0, "Predicted run times cannot be told apart from fifo or from true run times"),
        (55.0, 120.0, "Whether predicted run times keep 80 % of the oracle's gain cannot be told"),
        (82.0, 97.0, "Ordering by predicted run times"),
        (20.0, 70.0, "Ordering by predicted run times"),
    ],
)
def test_the_report_says_first_if_days_differ_too_much_to_tell_what_is_kept(
    study: ScheduleStudy, low: float, high: float, begins: str
) -> None:
    ours = predicted("user-median")
    kept = Estimate((low + high) / 2, low, high, level=0.95)
    rows = [replace(one, kept_pct=kept) if one.policy == ours else one for one in study.results]
    assert sentence(replace(study, results=rows)).startswith(begins)


def test_only_later_jobs_are_replayed_and_nothing_is_learnt_from_them(
    study: ScheduleStudy, gpu_jobs: pd.DataFrame
) -> None:
    assert study.jobs == pytest.approx(300, abs=2)
    assert study.jobs + study.learnt_jobs <= len(gpu_jobs)


def test_a_predictor_without_answers_is_left_out_with_a_note(study: ScheduleStudy) -> None:
    assert study.of(predicted("time-limit")) is None
    assert any("time-limit is left out" in note for note in study.notes)


def test_sharing_and_reserving_stand_in_the_same_table(study: ScheduleStudy) -> None:
    names = [one.policy for one in study.overall]
    assert NO_SHARING in names
    assert RESERVED in names
    assert study.gpus_saved_by_sharing_pct > 0
    whole, shared = study.of(NO_SHARING), study.of(FIFO)
    assert whole is not None
    assert shared is not None
    assert whole.mean_wait_s >= shared.mean_wait_s


def test_classes_hold_all_jobs_of_the_table(study: ScheduleStudy) -> None:
    classes = [one for one in study.results if one.policy == FIFO and one.of != "all jobs"]
    assert sum(one.jobs for one in classes) == study.jobs


def test_published_numbers_stand_beside_ours(study: ScheduleStudy) -> None:
    rows = published_beside(study)
    assert len(rows) == 5
    assert rows[0]["published"] == "-63 to -77 %"
    assert rows[0]["ours_pct"] < 0
    assert all(row["says"] for row in rows)


def test_where_nobody_waits_there_is_nothing_to_gain(gpu_jobs: pd.DataFrame) -> None:
    found = schedule_study(gpu_jobs, Cluster.parse("40x8"), ["user-median"], seeds=0)
    ours = found.of(predicted("user-median"))
    assert ours is not None
    assert math.isnan(ours.kept_pct.value)
    assert "Nothing to gain" in sentence(found)
    assert any("anybody waits" in note for note in found.notes)


def test_few_resampled_traces_give_no_interval_and_say_so(gpu_jobs: pd.DataFrame) -> None:
    found = schedule_study(gpu_jobs, Cluster.parse("1x2"), ["user-median"], seeds=3)
    oracle = found.of(ORACLE)
    assert oracle is not None
    assert oracle.change_pct.value < 0
    assert not oracle.change_pct.known
    assert any("only 3 resampled traces" in note for note in found.notes)
    assert published_beside(found)[1]["says"] == "same direction, not certain"


def test_the_report_names_seeds_and_fits_into_json(study: ScheduleStudy) -> None:
    report = schedule_study_result(
        study, data=DataUsed("jobs", 600), command="prophase schedule-study"
    )
    document = json.loads(json.dumps(to_dict(report), allow_nan=False))
    assert document["provenance"]["seeds"] == {"replays and predictors": 0}
    assert "keeps" in document["answer"]
    json.dumps(study.to_dict(), allow_nan=False)


def test_a_schedule_without_a_cluster_or_with_negative_seeds_is_refused(
    gpu_jobs: pd.DataFrame,
) -> None:
    with pytest.raises(InputError, match="--cluster"):
        require_cluster(None)
    with pytest.raises(ParameterError, match="seeds"):
        schedule_study(gpu_jobs, Cluster.parse("1x2"), seeds=-1)


def test_the_same_seed_gives_the_same_study(gpu_jobs: pd.DataFrame) -> None:
    def once() -> dict[str, object]:
        cluster = Cluster.parse("1x2")
        return schedule_study(gpu_jobs, cluster, ["user-median"], seeds=2).to_dict()

    assert once() == once()
