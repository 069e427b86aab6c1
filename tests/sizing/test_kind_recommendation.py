from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
import yaml

from prophase.errors import ParameterError
from prophase.sizing import Gate, export, recommend
from prophase.stats import calendar_blocks, months_in, share


@pytest.fixture(scope="module")
def jobs() -> pd.DataFrame:
    random = np.random.default_rng(0)
    parts = []
    for task, peak, request, count in (
        ("NF:ALIGN", 4.0, 32.0, 80),
        ("NF:SORT", 14.0, 16.0, 60),
        ("NF:RARE", 1.0, 8.0, 4),
    ):
        parts.append(
            pd.DataFrame(
                {
                    "task": task,
                    "memory_peak_gib": peak * random.lognormal(0.0, 0.05, count),
                    "request_memory_gib": request,
                    "duration_s": 1800.0,
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    table["job_id"] = [f"j{row}" for row in range(len(table))]
    table["submit_s"] = 6_000.0 * np.arange(len(table))
    return table


def test_a_task_far_below_its_request_gets_a_recommendation_with_a_back_tested_risk(
    jobs: pd.DataFrame,
) -> None:
    found = recommend(jobs, risk=0.02).of("ALIGN")
    assert found is not None
    assert not found.keep
    assert 4.3 < found.request < 7.0
    assert found.oom.low <= found.oom.value <= found.oom.high
    assert found.tried == 70
    assert found.saving > 0.8
    assert list(found.ladder) == sorted(found.ladder)
    assert found.ladder[-1] == 32.0


@pytest.fixture
def runs() -> pd.DataFrame:
    at = np.arange(60)
    return pd.DataFrame(
        {
            "job_id": at.astype(str),
            "task": "fit",
            "submit_s": 3600.0 * at,
            "duration_s": 600.0,
            "request_memory_gib": 8.0,
            "memory_peak_gib": 2.0 + 0.1 * (at % 5),
            "status": "completed",
        }
    )


def test_half_of_the_runs_killed_at_their_request_raise_it(runs: pd.DataFrame) -> None:
    runs.loc[::2, ["status", "memory_peak_gib"]] = ["oom", 8.0]
    (found,) = recommend(runs).tasks
    assert not found.keep
    assert found.request > 8.0
    assert found.why.startswith("ask for more: 30 of 60 runs (50 %) were killed")


def test_peaks_that_end_just_above_the_request_ask_for_a_little_more(runs: pd.DataFrame) -> None:
    needs = 7.2 + 1.4 * np.random.default_rng(3).beta(3, 3, len(runs))
    killed = needs > 8.0
    runs["memory_peak_gib"] = np.minimum(needs, 8.0)
    runs.loc[killed, "status"] = "oom"
    assert 0.2 < killed.mean() < 0.4
    (found,) = recommend(runs).tasks
    assert found.asks_for_more
    assert needs.max() < found.request < 1.3 * 8.0
    assert -0.3 < found.saving < 0


def test_a_few_killed_runs_keep_the_request_of_all(runs: pd.DataFrame) -> None:
    runs.loc[runs.index % 11 == 10, ["status", "memory_peak_gib"]] = ["oom", 8.0]
    (found,) = recommend(runs).tasks
    assert found.keep
    assert found.request == 8.0
    assert found.why.startswith("keep: 5 of 60 runs (8.3 %) were killed at the request, but")


def test_a_single_kill_does_not_raise_a_request_nor_is_it_forgotten(runs: pd.DataFrame) -> None:
    runs.loc[30, ["status", "memory_peak_gib"]] = ["oom", 8.0]
    (found,) = recommend(runs, risk=0.05).tasks
    assert not found.why.startswith("ask for more")
    assert max(found.peaks) > 8.0


def test_jobs_that_ran_out_of_time_raise_the_time_limit(runs: pd.DataFrame) -> None:
    late = runs.assign(time_limit_s=900.0)
    late.loc[::3, ["status", "duration_s"]] = ["timeout", 900.0]
    (found,) = recommend(late, resource="time").tasks
    assert found.why.startswith("ask for more")
    # nobody knows how long they would have taken
    assert found.request == 0.5
    assert math.isnan(found.saving)


def test_jobs_that_run_until_their_limit_whatever_it_is_keep_it(runs: pd.DataFrame) -> None:
    late = runs.assign(time_limit_s=900.0, status="timeout", duration_s=900.0)
    (found,) = recommend(late, resource="time").tasks
    assert found.keep
    assert found.why.startswith("keep: 60 of 60 runs (100 %) were killed at the request, and what")
    assert found.why.endswith("A run with 0.5 h would tell")


def test_a_limit_of_a_year_is_none_and_nothing_is_saved_by_a_shorter_one(
    runs: pd.DataFrame,
) -> None:
    found = recommend(runs.assign(time_limit_s=365 * 86_400.0), resource="time")
    (one,) = found.tasks
    assert math.isnan(one.now)
    assert not one.saved_per_month > 0
    assert found.remark.startswith("60 jobs have a time limit of 365 d or more, which stands for")
    assert not recommend(runs.assign(time_limit_s=86_400.0), resource="time").remark


def test_peaks_that_go_far_beyond_others_get_room_while_the_request_is_far_above(
    runs: pd.DataFrame,
) -> None:
    few = runs.iloc[:18].assign(request_memory_gib=64.0)
    few["memory_peak_gib"] = [
        11,
        12,
        13,
        12,
        12,
        13,
        10,
        11,
        13,
        12,
        18.5,
        12,
        9,
        14,
        12,
        11,
        12,
        15,
    ]
    found = recommend(few, risk=0.01).tasks[0]
    assert not found.keep
    assert 22.0 < found.request < 40.0
    assert "some went far beyond" in found.why
    # so little below the peaks no room is worth it
    assert recommend(few.assign(request_memory_gib=24.0), risk=0.01).tasks[0].keep


def test_one_kill_of_few_back_tested_runs_keeps_the_request(runs: pd.DataFrame) -> None:
    few = runs.head(11).assign(gpu_util_mean_pct=10.0, request_gpus=1.0)
    few.loc[9, "gpu_util_mean_pct"] = 60.0
    (found,) = recommend(few, resource="gpu").tasks
    assert found.why == "keep: 16.7% of the back-tested runs would have been killed"


def test_whoever_asks_for_no_gpu_is_told_none(runs: pd.DataFrame) -> None:
    (found,) = recommend(runs.assign(gpu_util_mean_pct=150.0), resource="gpu").tasks
    assert found.keep
    assert found.why.startswith("keep: it asks for no GPU")


def test_a_request_that_peaks_exceed_without_harm_stays_and_it_is_said(runs: pd.DataFrame) -> None:
    (found,) = recommend(runs.assign(request_memory_gib=2.15)).tasks
    assert found.why == "keep: 36 of 60 runs used more than they asked for"


def test_a_task_whose_peak_follows_its_request_keeps_it(runs: pd.DataFrame) -> None:
    asked = np.where(runs.index % 2, 4.0, 16.0)
    heap = runs.assign(request_memory_gib=asked, memory_peak_gib=0.8 * asked + 0.01)
    (found,) = recommend(heap).tasks
    assert found.keep
    assert "peaks follow the request" in found.why
    # an input that explains the peaks as well makes it a plain task
    sized = heap.assign(attr_input_bytes=2.0**30 * heap["memory_peak_gib"])
    assert "follow the request" not in recommend(sized).tasks[0].why


def test_any_shown_saving_is_recommended_unless_the_user_asks_for_more(runs: pd.DataFrame) -> None:
    near = runs.assign(request_memory_gib=4.0)
    assert not recommend(near).tasks[0].keep
    assert recommend(near, gate=Gate(least_saving=0.6)).tasks[0].keep


def test_the_risk_that_was_tried_out_has_the_interval_that_prove_shows(jobs: pd.DataFrame) -> None:
    steady = jobs[jobs["task"] == "NF:ALIGN"].assign(memory_peak_gib=4.0)
    found = recommend(steady).of("ALIGN")
    assert found is not None
    days = calendar_blocks(steady["submit_s"].to_numpy()[-found.tried :])
    same = share(np.zeros(found.tried, bool), days)
    assert (found.oom.value, found.oom.low) == (0.0, 0.0)
    assert found.oom.high == pytest.approx(same.high)


def test_a_history_of_less_than_a_week_has_no_month_and_keeps_its_order(
    jobs: pd.DataFrame,
) -> None:
    long, short = recommend(jobs), recommend(jobs.assign(submit_s=jobs["submit_s"] / 100))
    assert [one.task for one in short.tasks] == [one.task for one in long.tasks]
    for one in short.tasks:
        assert one.keep or math.isnan(one.saved_per_month)
    align = short.of("ALIGN")
    assert align is not None
    assert math.isnan(align.oom.low)


def test_small_savings_and_few_runs_keep_the_request_and_say_why(jobs: pd.DataFrame) -> None:
    advice = recommend(jobs)
    sort, rare = advice.of("SORT"), advice.of("RARE")
    assert sort is not None
    assert rare is not None
    assert sort.keep
    assert sort.request == 16.0
    assert rare.keep
    assert "too few runs" in rare.why
    assert math.isnan(rare.oom.value)


def test_a_lower_gate_recommends_more(jobs: pd.DataFrame) -> None:
    strict = recommend(jobs, gate=Gate(least_saving=0.9))
    loose = recommend(jobs, gate=Gate(least_saving=0.0, fewest_runs=3))
    assert sum(one.keep for one in strict.tasks) > sum(one.keep for one in loose.tasks)


def test_every_instance_of_a_gang_saves(jobs: pd.DataFrame) -> None:
    alone, gangs = recommend(jobs).of("ALIGN"), recommend(jobs.assign(instances=3)).of("ALIGN")
    assert alone is not None
    assert gangs is not None
    assert gangs.saved_per_month == pytest.approx(3 * alone.saved_per_month)
    assert gangs.saving == pytest.approx(alone.saving)


def test_a_task_that_kept_growing_keeps_its_request_and_says_that_it_grows() -> None:
    count = 60
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{row}" for row in range(count)],
            "task": "grow",
            "memory_peak_gib": 1.0 * 1.05 ** np.arange(count),
            "request_memory_gib": 100.0,
            "duration_s": 60.0,
            "submit_s": 60.0 * np.arange(count),
        }
    )
    found = recommend(jobs).tasks[0]
    assert found.request > 4 * found.peaks[-1]
    assert "peaks are rising" in found.why


def test_a_task_whose_trial_was_killed_too_often_keeps_its_request() -> None:
    count = 60
    peaks = np.where(np.arange(count) % 12 == 11, 1.4 ** (np.arange(count) / 12), 1.0)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{row}" for row in range(count)],
            "task": "bursts",
            "memory_peak_gib": peaks,
            "request_memory_gib": 7.0,
            "duration_s": 60.0,
            "submit_s": 60.0 * np.arange(count),
        }
    )
    found = recommend(jobs).tasks[0]
    assert found.keep
    assert "would have been killed" in found.why


def test_no_task_gets_a_recommendation_without_a_back_test(jobs: pd.DataFrame) -> None:
    ten = jobs[jobs["task"] == "NF:ALIGN"].head(10)
    assert recommend(ten).tasks[0].tried == 5
    three = recommend(ten.head(3), gate=Gate(fewest_runs=1)).tasks[0]
    assert three.keep
    assert "too few runs to back-test it" in three.why


def test_a_task_without_a_request_gets_one(jobs: pd.DataFrame) -> None:
    found = recommend(jobs.drop(columns="request_memory_gib")).of("ALIGN")
    assert found is not None
    assert not found.keep
    assert "no request today" in found.why


@pytest.mark.parametrize("risk", [0.0, 1.0, 5.0])
def test_a_risk_outside_its_range_is_refused(jobs: pd.DataFrame, risk: float) -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        recommend(jobs, risk=risk)


def test_exports_hold_the_recommended_tasks_only(jobs: pd.DataFrame) -> None:
    advice = recommend(jobs)
    component = yaml.safe_load(export(advice, "kubernetes"))
    names = {
        target["select"]["name"] for one in component["replacements"] for target in one["targets"]
    }
    assert names == {"nf-align"}
    config = export(advice, "nextflow")
    assert "withName: 'NF:ALIGN'" in config
    assert "NF:SORT" not in config
    assert "#SBATCH --mem=" in export(advice, "slurm")
    assert export(advice, "csv").count("\n") == 4
    assert json.loads(export(advice, "json"))["risk"] == 0.01


def test_what_a_time_limit_saves_is_not_multiplied_by_the_run_time(jobs: pd.DataFrame) -> None:
    limited = recommend(jobs.assign(time_limit_s=36000.0), resource="time", gate=Gate(10, 0.0))
    align = limited.of("ALIGN")
    assert align is not None
    assert not align.keep
    months = months_in(3600 * limited.span_h)
    # hours of time limits: at most all that the runs asked for
    most = align.runs * align.now / months
    assert align.saved_per_month == pytest.approx(align.saving * most)


def test_runs_of_an_earlier_version_of_the_code_do_not_count(runs: pd.DataFrame) -> None:
    later = runs.index >= len(runs) // 2
    changed = runs.assign(attr_container=np.where(later, "fit:2", "fit:1"))
    changed.loc[~later, "memory_peak_gib"] = 7.5
    (found,) = recommend(changed).tasks
    assert found.runs == int(later.sum())
    assert found.request < 4
    few = runs.assign(attr_container=np.where(runs.index >= len(runs) - 3, "fit:2", "fit:1"))
    (kept,) = recommend(few).tasks
    assert kept.why == "keep: too few runs of this version of its code (3, 10 are needed)"


def test_the_version_of_the_code_is_written_as_jobs_name_it(runs: pd.DataFrame) -> None:
    runs["attr_version"] = np.where(runs.index < 20, "v1.4.2", "v2.0.0")
    (row,) = recommend(runs).to_dict()["tasks"]
    assert row["code"] == "version=v2.0.0"
    assert "version=v2.0.0" in export(recommend(runs), "csv")
