from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sizing.assess.task_groups import cluster_statistics, cluster_tasks, natural_breaks
from prophase.trace.synth.pipeline import make_pipeline


def _runs(**peaks: tuple[float, list[float]]) -> pd.DataFrame:
    return pd.concat(
        [
            pd.DataFrame({"task": task, "request_memory_gib": request, "memory_peak_gib": values})
            for task, (request, values) in peaks.items()
        ],
        ignore_index=True,
    )


@pytest.mark.parametrize("seed", [0, 3, 112])
def test_the_groups_of_the_pipeline_are_the_true_ones(seed):
    trace = make_pipeline(random_state=seed)
    found = cluster_tasks(trace.jobs).set_index("task")["cluster"]
    truth = trace.truth["truth_tasks"].set_index("task")["cluster"]
    assert found.to_dict() == truth.to_dict()


def test_light_and_moderate_tasks_of_the_pipeline_get_5_and_20_as_in_the_thesis():
    table = cluster_tasks(make_pipeline(random_state=112).jobs)
    assert set(table.loc[table["cluster"] == "light", "advice_gib"]) == {5.0}
    moderate = table.loc[table["cluster"] == "moderate", "advice"]
    assert set(moderate) == {"ask for 20", "keep: asks for no more than 20"}


@pytest.mark.parametrize("seed", range(6))
def test_breaks_leave_the_least_squares_of_all_ways_to_break(seed):
    values = np.random.default_rng(seed).normal(0, 3, 9)
    groups = natural_breaks(values)
    count = int(groups.max()) + 1
    ranked = np.sort(values)

    def squares(starts: tuple[int, ...]) -> float:
        parts = np.split(ranked, starts)
        return float(sum(((part - part.mean()) ** 2).sum() for part in parts))

    mine = sum(
        ((values[groups == g] - values[groups == g].mean()) ** 2).sum() for g in range(count)
    )
    assert mine == pytest.approx(min(squares(s) for s in combinations(range(1, 9), count - 1)))


def test_light_tasks_get_the_largest_peak_of_their_group_rounded_up():
    jobs = _runs(
        load=(20.0, [1.0, 4.8] * 20),
        join=(20.0, [1.1, 4.1] * 20),
        train=(350.0, [2.0] * 38 + [170.0] * 2),
    )
    table = cluster_tasks(jobs).set_index("task")
    assert table.loc["load", "advice_gib"] == table.loc["join", "advice_gib"] == 5.0
    assert table.loc["train", "advice"] == "predict each run"


def test_few_runs_keep_their_request():
    table = cluster_tasks(_runs(load=(20.0, [1.0] * 5)))
    assert table["advice"].tolist() == ["keep: too few runs (5)"]
    assert table["advice_gib"].isna().all()


def test_a_task_that_met_its_limit_keeps_its_request():
    table = cluster_tasks(_runs(load=(20.0, [1.0] * 39 + [20.0])))
    assert table["advice"].tolist() == ["keep: it reached its limit once, its need may be higher"]


def test_kills_for_lack_of_memory_count_as_the_limit():
    jobs = _runs(load=(20.0, [1.0] * 40)).assign(status=["oom", "oom"] + ["completed"] * 38)
    assert "2 times" in cluster_tasks(jobs)["advice"].iloc[0]


def test_a_request_that_is_not_above_the_recommendation_is_kept():
    table = cluster_tasks(_runs(load=(5.0, [3.5] * 40)))
    assert table["advice"].tolist() == ["keep: asks for no more than 5"]


def test_a_heavy_task_whose_runs_are_alike_gets_a_request_of_its_own():
    jobs = _runs(load=(20.0, [0.5] * 40), sort=(60.0, [10.8, 10.9] * 20))
    table = cluster_tasks(jobs).set_index("task")
    assert table.loc["sort", ["cluster", "advice"]].tolist() == ["heavy", "ask for 12"]


def test_no_recommendation_is_below_what_a_container_needs():
    assert cluster_tasks(_runs(load=(1.0, [0.003] * 40)))["advice_gib"].tolist() == [0.1]


def test_tasks_that_are_alike_are_one_group():
    jobs = _runs(a=(20.0, [1.0] * 40), b=(20.0, [1.1] * 40))
    assert set(cluster_tasks(jobs)["cluster"]) == {"light"}


def test_a_missing_request_still_gets_statistics():
    table = cluster_tasks(_runs(load=(np.nan, [1.0] * 40)))
    assert table["max_gib"].tolist() == [1.0]
    assert table["advice_gib"].tolist() == [1.0]


def test_group_statistics_cover_all_runs():
    jobs = _runs(load=(20.0, [1.0, 3.0] * 20), train=(350.0, [2.0] * 38 + [170.0] * 2))
    table = cluster_statistics(cluster_tasks(jobs), jobs).set_index("cluster")
    assert table.loc["light", "mean_gib"] == 2.0
    assert table.loc["heavy", "max_gib"] == 170.0
    assert table["runs"].sum() == 80


def test_without_peaks_there_are_no_groups():
    with pytest.raises(InputError, match="no job has a memory_peak_gib"):
        cluster_tasks(pd.DataFrame({"task": ["a"], "request_memory_gib": [1.0]}))
