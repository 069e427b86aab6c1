from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.sizing.assess.made_runs import light_and_heavy

from prophase.errors import InputError
from prophase.sizing.assess.assessment import assess
from prophase.trace.prices import Prices


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    made = light_and_heavy(80)
    return made.assign(submit_s=np.linspace(0, 14 * 86_400.0, len(made)))


def test_an_assessment_says_use_groups_money_and_drivers(runs):
    found = assess(runs, prices=Prices(gib_hour=0.01, currency="USD"))
    told = " ".join(found.sentences())
    assert "memory" in told
    assert "light: 1 task" in told
    assert "USD per month, extrapolated from 14 days" in told
    assert "train is driven by attr_rows" in told
    assert "train: knowing the bin of each run" in told
    assert set(found.binnings["task"]) == {"train"}
    by_task = found.tasks.set_index("task")
    assert by_task.loc["load", "advice"] == "ask for 2"
    assert by_task.loc["train", "advice"] == "predict each run"
    assert by_task.loc["load", "saved_per_month"] > 0


def test_less_than_a_week_has_no_cost_per_month(runs):
    short = runs.assign(submit_s=runs["submit_s"] / 14)
    found = assess(short, prices=Prices(gib_hour=0.01, currency="USD"))
    assert found.to_dict()["months"] is None
    assert "No cost per month: the history is shorter than 7 days" in " ".join(found.sentences())


@pytest.mark.parametrize("factor", [1.0, 0.1])
def test_it_fits_into_json(runs, factor):
    found = assess(runs.assign(submit_s=factor * runs["submit_s"]), prices=Prices(gib_hour=0.01))
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["tasks"][0]["task"] == "load"


def test_a_trace_with_cpu_alone_gets_core_recommendations_alone(runs):
    found = assess(runs.drop(columns=["memory_peak_gib", "request_memory_gib"]))
    assert found.clusters.empty
    assert found.tasks["core_advice"].tolist() == ["ask for 1", "ask for 1"]
    assert not found.drivers


def test_means_of_cpu_are_taken_with_a_word_of_caution(runs):
    found = assess(runs.rename(columns={"cpu_peak_cores": "cpu_mean_cores"}))
    assert any("only means are known" in note for note in found.notes)


def test_rows_that_do_not_count_are_said(runs):
    found = assess(runs.assign(request_memory_gib=[np.nan] + [20.0] * (len(runs) - 1)))
    assert any(note.startswith("memory: left out 1 row") for note in found.notes)


def test_drivers_of_a_named_task_are_refused_if_they_cannot_be_found(runs):
    with pytest.raises(InputError, match="no task 'lode'"):
        assess(runs, drivers_of=["lode"])


def test_an_empty_trace_is_refused(runs):
    with pytest.raises(InputError, match="no jobs"):
        assess(runs.iloc[:0])
