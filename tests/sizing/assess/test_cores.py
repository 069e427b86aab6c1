from __future__ import annotations

import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sizing.assess.cores import core_requests
from prophase.trace.synth.pipeline import make_pipeline


def _runs(cores: list[float], request: float = 8.0) -> pd.DataFrame:
    return pd.DataFrame({"task": "t", "request_cpu_cores": request, "cpu_peak_cores": cores})


def test_parallel_tasks_of_the_pipeline_are_detected_and_all_others_get_one_core():
    jobs = make_pipeline().jobs
    table = core_requests(jobs).set_index("task")
    group = jobs.drop_duplicates("task").set_index("task")["attr_allocation_group"]
    assert (table["parallel"] == (group.reindex(table.index) == "parallel")).all()
    assert set(table.loc[~table["parallel"], "advice_cores"]) == {1.0}
    assert table["advice_cores"].sum() == 43


def test_a_parallel_task_is_given_what_it_uses_in_whole_cores():
    assert core_requests(_runs([2.2, 3.4] * 20))["advice_cores"].tolist() == [4.0]


def test_a_rare_second_core_does_not_make_a_task_parallel():
    assert core_requests(_runs([0.9] * 98 + [1.8] * 2))["parallel"].tolist() == [False]


def test_few_runs_keep_their_cores():
    table = core_requests(_runs([0.9] * 5))
    assert table["core_advice"].tolist() == ["keep: too few runs"]
    assert table["advice_cores"].tolist() == [8.0]


def test_a_request_that_is_used_up_is_kept():
    assert core_requests(_runs([4.0] * 40, 4.0))["core_advice"].tolist() == ["keep: uses them"]


def test_without_measured_cpu_there_is_no_recommendation():
    with pytest.raises(InputError, match="measured CPU use"):
        core_requests(pd.DataFrame({"task": ["t"], "request_cpu_cores": [1.0]}))
